// Tells Custos what this agent is doing. Written by Custos; it changes nothing of what
// the agent does, and nothing that goes wrong in it reaches the agent.
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
