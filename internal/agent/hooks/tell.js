// Tells Custos what this agent is doing. Written by Custos; it changes nothing of what
// the agent does, but for calls that its policy denies, and nothing that goes wrong in it reaches the agent.
import { spawn } from "node:child_process";
import { closeSync, openSync, unlinkSync, writeFileSync } from "node:fs";

const hook = __HOOK__;
const run = __RUN__;
const kind = __KIND__;

let last = Promise.resolve();
let count = 0;

// given opens a file with the payload, which is gone from its folder at once. A
// pipe would be written when the agent's one thread has time for it, and the hook
// waits 100 ms at most; an argument could be seen by everybody.
function given(payload) {
  const file = `${run}/hooks/.payload-${process.pid}-${count++}`;
  writeFileSync(file, JSON.stringify(payload ?? {}), { mode: 0o600, flag: "wx" });
  try {
    return openSync(file, "r");
  } finally {
    unlinkSync(file);
  }
}

// tell posts one event after the other, so that they arrive in order.
function tell(name, payload) {
  last = last.then(() => new Promise((done) => {
    let fd;
    try {
      fd = given(payload);
      const child = spawn(hook, [kind, name, "--run", run], { stdio: [fd, "ignore", "ignore"] });
      child.on("error", done);
      child.on("close", done);
    } catch {
      done();
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }));
}

// An agent with a policy is asked for each call of a tool whether something speaks against it.
const judges = !!process.env.CUSTOS_POLICY;
const unjudged = "Custos could not be asked about this call, and the policy of this agent denies what cannot be judged. Tell a person.";
const patience = 10000;

// judged posts a call like tell, and waits for the verdict: why the call is not to be made; nothing where
// nothing speaks against it. A hook that does not run, or does not end, cannot have judged.
function judged(name, payload) {
  const asked = last.then(() => new Promise((done) => {
    let fd, said = "";
    try {
      fd = given(payload);
      const child = spawn(hook, [kind, name, "--run", run], { stdio: [fd, "pipe", "ignore"], timeout: patience });
      child.stdout.on("data", (text) => { said += text; });
      child.on("error", () => done(unjudged));
      child.on("close", (code) => done(code === 0 ? denied(said) : unjudged));
    } catch {
      done(unjudged);
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }));
  last = asked;
  return asked;
}

// denied is why, of what the hook said.
function denied(said) {
  try {
    const { decision, reason } = JSON.parse(said);
    return decision === "deny" ? reason || unjudged : undefined;
  } catch {
    return said.startsWith("{") ? unjudged : undefined; // half of a verdict, or none
  }
}

// again says whether this CLI is loading the plugin for the second time: it was launched
// with it, and its settings name it as well. Each time it loads its plugins, a CLI hands
// the same object to all of them (opencode), or loads them within a second (pi).
const Loaded = Symbol.for("custos.loaded");
function again(by) {
  const loaded = globalThis[Loaded] ??= { by: new WeakSet(), at: -Infinity };
  const was = by ? loaded.by.has(by) : Date.now() - loaded.at < 1000;
  if (by) loaded.by.add(by);
  else if (!was) loaded.at = Date.now();
  return was;
}
