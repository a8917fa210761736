// The objects of Kubernetes that run a cluster file: a JobSet (jobset.x-k8s.io/v1alpha2) with
// the launcher's job and the job of the other hosts, which have doors, the file, the doors'
// key, a service by which pods find each other, and a rule that keeps other pods out. Pure, any
// thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/config/otlp_spec.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct kubernetes_options {
  std::string image;       // has `tidegate` in its PATH, and the programs of the jobs
  std::string name_space;  // empty: the one that kubectl has
  // A PersistentVolumeClaim that all pods mount at `volume`, where the run folder is then;
  // empty: the run folder ends with the launcher's pod.
  std::string claim;
  std::string volume = "/tidegate";
  // A Secret that is there, with the key of the doors as `key`; empty: a new one has
  // the text `key`.
  std::string key_secret;
  std::string key;
  std::string run;  // tells the run folder from those of other runs of this name
  std::optional<otlp_spec> otlp = {};  // as in the cluster file
  // Each pod requests these, and gets no more: "cpu", "8".
  std::vector<std::pair<std::string, std::string>> resources;
};

// `cluster`: with engine kubernetes, as it was read. `nodes`: how many pods; 0: those that it
// names. Errors: invalid_argument (a name that pods cannot have, no nodes, checkpoints without
// a claim or a store). Keys of a store are in a Secret NAME-store, which is not made here.
runtime::expected<std::string> manifests(const policies::cluster_spec& cluster,
                                         std::uint32_t nodes,
                                         const kubernetes_options& options);

}  // namespace tidegate::launch
