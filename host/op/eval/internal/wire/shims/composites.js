// The composites: whole Ops made of a few options. Most give {op[, schedule]}.

function outcome(step, name, from) {
  return { ...step, outcomeAttribute: { name, from } };
}

// given keeps the members that have a value.
function given(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value));
}

function schedule(name, taskQueue, cron) {
  const workflow = name.replace(/-+(.)?/g, (_, c) => (c ? c.toUpperCase() : "")) + "Workflow";
  return Op({
    scheduleId: `${name}-schedule`,
    spec: { cronExpressions: [cron] },
    action: { workflowType: workflow, taskQueue },
  });
}

// composed is what most composites give.
function composed(config, cron) {
  const op = Op(config);
  return cron ? { op, schedule: schedule(config.name, config.taskQueue, cron) } : { op };
}

const plan = (env, live = true) => outcome(activity("lifecycleDiff", { env, live }), "Drift", "drifted");

function ApplyOp({
  name, env, target = "kubectl", output = target === "kubectl" || target === "kustomize" ? "dist" : "template.json", path = ".",
  delete: deleteMode = "never", gate: approval, compensate = deleteMode !== "never", forceConflicts, taskQueue = name,
}) {
  const phases = [phase("Build", [builders.build(path)]), phase("Plan", [plan(env)])];
  if (deleteMode === "gated" || approval) {
    phases.push(phase("Approve", [gate(approval?.signalName ?? `approve-${name}`, {
      timeout: approval?.timeout,
      description: approval?.description ?? `Approve apply to ${env} (delete mode: ${deleteMode})`,
    })]));
  }
  const args = { target, env, output, deleteMode };
  if (forceConflicts !== undefined) args.forceConflicts = forceConflicts;
  phases.push(phase("Apply", [activity("nativeApply", args, "longInfra")]));
  const config = {
    name,
    overview: `Apply declared source to the ${env} environment (code → cloud)`,
    taskQueue,
    searchAttributes: { Apply: "true", Env: env },
    phases,
  };
  if (compensate) {
    config.onFailure = [phase("Rollback", [activity("compensateApply", { target, env, ...given({ command: compensate.command }) })])];
  }
  return composed(config);
}

function WatchOp({ name, env, schedule: cron, live = true, taskQueue = name }) {
  const { op } = composed({
    name,
    overview: `Periodically snapshot and diff the ${env} environment`,
    taskQueue,
    searchAttributes: { Watch: "true", Env: env },
    phases: [phase("Snapshot", [builders.lifecycleSnapshot(env)]), phase("Diff", [plan(env, live)])],
  });
  return { op, schedule: schedule(name, taskQueue, cron) }; // always one
}

function ReconcileOp({ name, env, schedule: cron, onDrift = "pull-request", scope, taskQueue = name }) {
  let step = activity("reconcilePr", { env, mode: onDrift, owned: scope?.owned ?? false });
  if (onDrift === "pull-request") step = outcome(step, "PR", "prUrl");
  if (onDrift === "issue") step = outcome(step, "Issue", "issueUrl");
  return composed({
    name,
    overview: `Reconcile the ${env} environment into source (cloud → code)`,
    taskQueue,
    searchAttributes: { Reconcile: "true", Env: env },
    phases: [phase("Snapshot", [builders.lifecycleSnapshot(env)]), phase("Plan", [plan(env)]), phase("Reconcile", [step])],
  }, cron);
}

const upgradable = ["k8s", "gcp", "docker", "gitlab", "aws", "azure", "github", "fly", "cedar"];

function LexiconUpgradeOp({ lexicon, name = `${lexicon}-upgrade`, onFinding = "report", lexiconDir, schedule: cron, taskQueue = name }) {
  if (!upgradable.includes(lexicon)) {
    throw new Error(`LexiconUpgradeOp knows no lexicon "${lexicon}"; there are: ${upgradable.join(", ")}`);
  }
  return composed({
    name,
    overview: "Detect a newer upstream spec for the lexicon, regen + validate, and surface the API-surface delta",
    taskQueue,
    searchAttributes: { Upgrade: "true", Lexicon: lexicon },
    phases: [phase("Upgrade", [
      outcome(activity("lexiconUpgrade", { lexicon, ...given({ lexiconDir }), mode: onFinding }), "HasUpgrade", "hasUpgrade"),
    ])],
  }, cron);
}

// audit is what the two audits have in common.
function audit({ name, onFinding = "report", schedule: cron, taskQueue = name }, overview, surface, fn, args) {
  return composed({
    name,
    overview,
    taskQueue,
    searchAttributes: { Audit: "true", Surface: surface },
    phases: [phase("Audit", [outcome(activity(fn, { ...args, mode: onFinding }), "Findings", "findings")])],
  }, cron);
}

function WorkflowAuditOp(o) {
  const overview = "Resolve workflow action references against live upstreams and report supply-chain drift";
  const { workflowsDir = ".github/workflows" } = o;
  return audit(o, overview, "github-workflows", "workflowSupplyChainAudit", { workflowsDir });
}

function PipelineAuditOp(o) {
  const overview = "Resolve pipeline include/component/image references against live upstreams and report drift";
  const { pipelineFile = ".gitlab-ci.yml" } = o;
  return audit(o, overview, "gitlab-pipeline", "pipelineSupplyChainAudit", { pipelineFile });
}

function PolicyReplayOp({
  name, path: cwd = ".", buildScript = "build", onFinding: mode = "report", reportPath = "dist/dogwood-replay.json",
  policiesPath = "dist/policies.dw", policySchemaPath = "dist/app.cedarschema", eventSchemaPath, macrosPath, providersPath, tracePath,
  expect, binary, title, failOnDivergence, taskQueue = name,
  overview = "Replay the declared dogwood policy set against a recorded event trace and report divergence",
}) {
  const optional = given({ eventSchemaPath, macrosPath, providersPath, tracePath, expect });
  const replay = { cwd, policiesPath, policySchemaPath, ...optional, mode, ...given({ binary }), reportPath };
  const phases = [
    phase("Replay", [outcome(cedar.dogwoodReplayStep(replay), "Divergences", "findings")]),
    phase("Report", [cedar.dogwoodReplayReportStep({ cwd, reportPath, mode, ...given({ title, failOnDivergence }) })]),
  ];
  if (buildScript !== false) phases.unshift(phase("Artifacts", [builders.build(cwd, { script: buildScript })]));
  return composed({ name, overview, taskQueue, searchAttributes: { Audit: "true", Surface: "cedar-dogwood" }, phases });
}

function flyDeploy({
  name = "fly", taskQueue = "local-fly", overview = "Fly: App + Machine → mudflaps (direct flaps apply), local, no account",
  path = ".", planPath = "dist/fly.json", app, endpoint = "http://localhost:4280", ...rest
} = {}) {
  const apply = { ...given({ endpoint }), ...(rest.prune ? { prune: true } : {}), ...given({ wait: rest.wait }) };
  const phases = [
    phase("Emulator", [fly.flapsUp()]),
    phase("Build", [builders.build(path, { script: rest.buildScript ?? "build:fly" })]),
    phase("Apply", [fly.flyApplyStep(planPath, apply)]),
  ];
  if (endpoint && app) {
    const check = { contains: "started", retries: 15, intervalMs: 2000 };
    phases.push(phase("Verify", [builders.httpCheck(`${endpoint}/v1/apps/${app}/machines`, check)]));
  }
  phases.push(phase("Teardown", [fly.flapsDown()]));
  return Op({ name, overview, taskQueue, phases });
}

const temporal = {
  ...builders, ApplyOp, WatchOp, ReconcileOp, LexiconUpgradeOp, WorkflowAuditOp, PipelineAuditOp, IN_SCOPE_LEXICONS: upgradable,
};
