#include "policies/checkpoint/fit.hpp"

#include <string>

namespace tidegate::policies {

using runtime::errc;

runtime::status check_fit(const checkpoint_reader& from, const job_spec& job) {
  const auto& manifest = from.manifest();
  const auto subject = "checkpoint " + to_string(manifest.id) + " of job " + job.name;
  if (manifest.workers != job.capacity())
    return {errc::invalid_argument,
            subject + " has room for " + std::to_string(manifest.workers) +
                " workers, and the job for " + std::to_string(job.capacity())};
  if (manifest.consistency.kind != job.consistency.kind)
    return {errc::invalid_argument, subject +
                                        " is of another policy than the job's "
                                        "(jobs.*.consistency)"};
  for (std::size_t i = 0; i < manifest.tables.size(); ++i)
    if (from.chunks(i).front().stored.about.rows.dim > 0 && manifest.seed != job.seed)
      return {errc::invalid_argument, subject + " has rows of table '" +
                                          manifest.tables[i].name +
                                          "', whose parts and first values follow from seed " +
                                          std::to_string(manifest.seed) +
                                          ", and the job has seed " + std::to_string(job.seed)};
  return {};
}

}  // namespace tidegate::policies
