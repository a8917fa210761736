#include "launch/kubernetes/manifests.hpp"

#include <nlohmann/json.hpp>

#include "launch/agents/engine.hpp"
#include "launch/agents/pods.hpp"
#include "launch/config/write_yaml.hpp"
#include "launch/kubernetes/yaml_text.hpp"
#include "launch/plan/environment.hpp"
#include "launch/text/scalars.hpp"
#include "launch/text/shell_word.hpp"
#include "runtime/base/object_place.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;
using policies::cluster_spec;
using runtime::errc;

constexpr const char* job_set_label = "jobset.sigs.k8s.io/jobset-name";
constexpr const char* file_folder = "/run/tidegate/file";
constexpr const char* key_folder = "/run/tidegate/key";
// Kubernetes takes a node that does not answer for lost after five minutes; a host is lost
// after supervision.unreachable, and may come back elsewhere.
constexpr int node_lost_s = 30;
constexpr int tries_max = 2147483647;  // a pod is started again as often as it ends
constexpr int launcher_tries = 6;
constexpr int file_mode = 0440;
constexpr int group =
    1000;  // whose files the key and the volume are, whoever the image's user is

json metadata(const std::string& name, const kubernetes_options& options) {
  json result{{"name", name}};
  if (!options.name_space.empty()) result["namespace"] = options.name_space;
  result["labels"] = {{"app.kubernetes.io/name", "tidegate"}};
  return result;
}

json object(const char* version, const char* kind, const std::string& name,
            const kubernetes_options& options) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", metadata(name, options)}};
}

std::string key_secret_of(const cluster_spec& cluster, const kubernetes_options& options) {
  return options.key_secret.empty() ? cluster.name + "-key" : options.key_secret;
}

json file_map(const cluster_spec& cluster, const kubernetes_options& options) {
  auto result = object("v1", "ConfigMap", cluster.name + "-file", options);
  result["data"] = {{"cluster.yaml", write_yaml(cluster, options.otlp)}};
  return result;
}

json key_of_doors(const cluster_spec& cluster, const kubernetes_options& options) {
  auto result = object("v1", "Secret", key_secret_of(cluster, options), options);
  result["type"] = "Opaque";
  result["immutable"] = true;  // doors have read it
  result["stringData"] = {{"key", options.key}};
  return result;
}

json selector(const cluster_spec& cluster) {
  return {{job_set_label, cluster.name}};
}

// Pods have names before they are ready: a door is open, or it is not.
json service(const cluster_spec& cluster, const kubernetes_options& options) {
  auto result = object("v1", "Service", cluster.name, options);
  result["spec"] = {{"clusterIP", "None"},
                    {"publishNotReadyAddresses", true},
                    {"selector", selector(cluster)}};
  return result;
}

// Payload between hosts is neither proven nor hidden.
json own_network(const cluster_spec& cluster, const kubernetes_options& options) {
  auto result = object("networking.k8s.io/v1", "NetworkPolicy", cluster.name, options);
  const json pods = {{"matchLabels", selector(cluster)}};
  result["spec"] = {
      {"podSelector", pods},
      {"policyTypes", {"Ingress"}},
      {"ingress", json::array({{{"from", json::array({{{"podSelector", pods}}})}}})}};
  return result;
}

// Evictions may take as many hosts at a time as there are replicas.
json budget(const cluster_spec& cluster, const kubernetes_options& options) {
  auto result = object("policy/v1", "PodDisruptionBudget", cluster.name, options);
  result["spec"] = {{"minAvailable", cluster.hosts.size() - cluster.replicas},
                    {"selector", {{"matchLabels", selector(cluster)}}}};
  return result;
}

json volumes(const cluster_spec& cluster, const kubernetes_options& options) {
  auto result = json::array();
  result.push_back({{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}});
  result.push_back(
      {{"name", "key"},
       {"secret",
        {{"secretName", key_secret_of(cluster, options)}, {"defaultMode", file_mode}}}});
  if (!options.claim.empty())
    result.push_back(
        {{"name", "runs"}, {"persistentVolumeClaim", {{"claimName", options.claim}}}});
  return result;
}

json mounts(const kubernetes_options& options) {
  auto result = json::array();
  result.push_back({{"name", "shm"}, {"mountPath", "/dev/shm"}});
  result.push_back({{"name", "key"}, {"mountPath", key_folder}, {"readOnly", true}});
  if (!options.claim.empty())
    result.push_back({{"name", "runs"}, {"mountPath", options.volume}});
  return result;
}

// A replica is on another host than its shard, which is worth less on the same node.
json spread(const cluster_spec& cluster) {
  return {{"maxSkew", 1},
          {"topologyKey", "kubernetes.io/hostname"},
          {"whenUnsatisfiable", "ScheduleAnyway"},
          {"labelSelector", {{"matchLabels", selector(cluster)}}}};
}

json pod(const cluster_spec& cluster, const kubernetes_options& options, const char* name,
         json command) {
  json container{{"name", name},
                 {"image", options.image},
                 {"command", std::move(command)},
                 {"securityContext", {{"allowPrivilegeEscalation", false}}}};
  if (!options.resources.empty()) {
    json amounts = json::object();
    for (const auto& [resource, amount] : options.resources) amounts[resource] = amount;
    container["resources"] = {{"requests", amounts}, {"limits", amounts}};
  }
  container["volumeMounts"] = mounts(options);
  auto tolerations = json::array();
  for (const char* trouble : {"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"})
    tolerations.push_back({{"key", trouble},
                           {"operator", "Exists"},
                           {"effect", "NoExecute"},
                           {"tolerationSeconds", node_lost_s}});
  return {{"automountServiceAccountToken", false},
          {"securityContext", {{"fsGroup", group}, {"fsGroupChangePolicy", "OnRootMismatch"}}},
          {"tolerations", tolerations},
          {"topologySpreadConstraints", json::array({spread(cluster)})},
          {"containers", json::array({container})},
          {"volumes", volumes(cluster, options)}};
}

json job(const char* name, json spec, std::uint32_t pods) {
  json whole{{"completionMode", "Indexed"}, {"completions", pods}, {"parallelism", pods}};
  whole.update(spec);
  return {{"name", name}, {"replicas", 1}, {"template", {{"spec", whole}}}};
}

std::string run_folder(const cluster_spec& cluster, const kubernetes_options& options) {
  const auto name = cluster.name + "-" + options.run;
  return (options.claim.empty() ? "/tmp" : options.volume) + "/" + name;
}

// A launcher whose pod was lost goes on where its run folder is still there. One that has ended
// by itself has said how: it is not tried again.
json launcher(const cluster_spec& cluster, const kubernetes_options& options) {
  const auto run = shell_word(run_folder(cluster, options));
  const auto patience = " --patience " + format_duration_ms(cluster.start_timeout_ms);
  const auto script = "set -e\nif [ -e " + run + "/cluster.yaml ]; then\n" +
                      "  exec tidegate launch --resume " + run + " --follow" + patience +
                      "\nfi\nrm -rf " + run + "\nexec tidegate launch " + file_folder +
                      "/cluster.yaml --run-dir " + run + " --follow" + patience + "\n";
  auto own = pod(cluster, options, launcher_job, {"/bin/sh", "-c", script});
  own["restartPolicy"] = "Never";
  own["volumes"].push_back(
      {{"name", "file"}, {"configMap", {{"name", cluster.name + "-file"}}}});
  own["containers"][0]["volumeMounts"].push_back(
      {{"name", "file"}, {"mountPath", file_folder}, {"readOnly", true}});
  // It hands these on to the hosts.
  if (has_object_place(cluster))
    own["containers"][0]["envFrom"] =
        json::array({{{"secretRef", {{"name", cluster.name + "-store"}}}}});
  auto rules = json::array();
  rules.push_back(
      {{"action", "Ignore"},
       {"onPodConditions", json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}})}});
  rules.push_back(
      {{"action", "FailJob"},
       {"onExitCodes",
        {{"containerName", launcher_job}, {"operator", "In"}, {"values", {1, 2, 3}}}}});
  return job(launcher_job,
             {{"backoffLimit", launcher_tries},
              {"podFailurePolicy", {{"rules", rules}}},
              {"template", {{"spec", own}}}},
             1);
}

json doors(const cluster_spec& cluster, const kubernetes_options& options) {
  auto behind =
      pod(cluster, options, hosts_job, {"tidegate", "door", "--key-file", pod_key_file});
  behind["restartPolicy"] = "OnFailure";
  return job(hosts_job, {{"backoffLimit", tries_max}, {"template", {{"spec", behind}}}},
             static_cast<std::uint32_t>(cluster.hosts.size() - 1));
}

json job_set(const cluster_spec& cluster, const kubernetes_options& options) {
  auto result = object("jobset.x-k8s.io/v1alpha2", "JobSet", cluster.name, options);
  auto jobs = json::array({launcher(cluster, options)});
  if (cluster.hosts.size() > 1) jobs.push_back(doors(cluster, options));
  result["spec"] = {
      {"network", {{"enableDNSHostnames", true}, {"subdomain", cluster.name}}},
      {"successPolicy",
       {{"operator", "All"}, {"targetReplicatedJobs", json::array({launcher_job})}}},
      {"failurePolicy", {{"maxRestarts", 0}}},
      {"replicatedJobs", jobs}};
  return result;
}

runtime::status check(const cluster_spec& cluster, const kubernetes_options& options) {
  if (options.image.empty())
    return {errc::invalid_argument, "no image is given; allowed: --image NAME"};
  for (const auto& job : cluster.jobs)
    if (job.checkpoint && options.claim.empty() &&
        !runtime::is_object_place(job.checkpoint->path))
      return {errc::invalid_argument,
              "jobs." + job.name +
                  ".checkpoint: checkpoints need a volume that all pods mount; allowed: "
                  "--claim NAME, a PersistentVolumeClaim with ReadWriteMany, or a path in a "
                  "store of objects (s3://)"};
  return {};
}

}  // namespace

runtime::expected<std::string> manifests(const cluster_spec& cluster, std::uint32_t nodes,
                                         const kubernetes_options& options) {
  if (auto fits = check(cluster, options); !fits.ok()) return runtime::fail(fits);
  const auto hosts = as_if_on_engine(cluster, nodes);
  if (!hosts) return runtime::fail(hosts.error());
  std::vector<json> all = {file_map(*hosts, options)};
  if (options.key_secret.empty()) all.push_back(key_of_doors(*hosts, options));
  all.push_back(service(*hosts, options));
  all.push_back(own_network(*hosts, options));
  if (hosts->replicas > 0 && hosts->hosts.size() > hosts->replicas)
    all.push_back(budget(*hosts, options));
  all.push_back(job_set(*hosts, options));
  std::string text;
  for (const auto& each : all) text += (text.empty() ? "" : "---\n") + yaml_text(each) + "\n";
  return text;
}

}  // namespace tidegate::launch
