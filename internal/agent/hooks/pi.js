// The part of the plugin that is pi's: an extension.
const ofUser = (message) => message?.role === "user";

// said is the text of a message.
function said(message) {
  if (typeof message?.content === "string") return message.content;
  return (message?.content ?? []).filter((p) => p.type === "text").map((p) => p.text).join("\n");
}

export default function custos(pi) {
  if (again()) return;
  let failed; // what ended the last try of this turn
  const on = (event, tellIt) => pi.on(event, async (e, ctx) => {
    try {
      await tellIt(e, { session_id: ctx?.sessionManager?.getSessionId?.() });
    } catch {
      // what cannot be told is not the agent's trouble
    }
  });
  const over = (base) => failed ? tell("failed", { ...base, ...failed }) : tell("agent_end", base);

  on("session_start", (e, base) => { tell("session_start", { ...base, reason: e.reason }); });
  on("message_start", (e, base) => { if (ofUser(e.message)) tell("prompt", { ...base, prompt: said(e.message) }); });
  const begun = (e, base, args) => ({ ...base, tool_name: e.toolName, tool_use_id: e.toolCallId, tool_input: args });
  if (judges) {
    pi.on("tool_call", async (e, ctx) => {
      const reason = await judged("tool_execution_start", { ...begun(e, { session_id: ctx?.sessionManager?.getSessionId?.() }, e.input), cwd: ctx?.cwd ?? process.cwd() });
      if (reason) return { block: true, reason };
    });
  } else {
    on("tool_execution_start", (e, base) => { tell("tool_execution_start", begun(e, base, e.args)); });
  }
  on("tool_execution_end", (e, base) => { tell("tool_execution_end", { ...base, tool_name: e.toolName, tool_use_id: e.toolCallId, is_error: e.isError }); });
  on("session_compact", (e, base) => { tell("session_compact", base); });
  on("ui_prompt_start", (e, base) => { tell("ui_prompt_start", base); });
  on("ui_prompt_end", (e, base) => { tell("ui_prompt_end", base); });

  // A version that settles says so when it will not go on by itself; one that does not
  // ends its turn with each try.
  const settles = typeof on("agent_settled", (e, base) => { over(base); }) === "function";
  on("agent_end", (e, base) => {
    const last = e.messages?.at?.(-1);
    failed = last?.stopReason === "error" ? { error: "", error_details: last.errorMessage } : undefined;
    if (!settles) over(base);
    else if (failed) tell("retry", { ...base, ...failed });
  });
  // The end is waited for: the process goes with it.
  on("session_shutdown", (e, base) => {
    if (e.reason !== "reload") tell("session_shutdown", { ...base, reason: e.reason });
    return last;
  });
}
