// The part of the plugin that is OpenCode's.
const told = new Set([
  "session.created", "session.deleted", "session.status", "session.idle", "session.error", "session.compacted",
  "permission.asked", "permission.updated", "permission.replied", "question.asked", "question.replied", "question.rejected",
]);

export const Custos = async (input) => {
  if (again(input)) return {};
  const here = input?.directory;
  const children = new Set(); // sessions of subagents: their end is not the agent's
  const asked = new Map(); // which call each open request is about: an answer names the request only
  return {
    event: async ({ event }) => {
      const p = event.properties ?? {};
      if (p.info?.parentID) children.add(p.info.id);
      const asks = event.type.startsWith("permission.") || event.type.startsWith("question.");
      if (event.type === "session.status" && p.status?.type !== "retry") return; // busy and idle come many times a turn
      if (!told.has(event.type) || (!asks && children.has(p.sessionID ?? p.info?.id))) return;
      if (event.type.endsWith(".asked")) asked.set(p.id, p.tool);
      tell(event.type, asked.has(p.requestID) ? { ...p, tool: asked.get(p.requestID) } : p);
      asked.delete(p.requestID);
    },
    "chat.message": async (input, output) => {
      if (children.has(input.sessionID)) return;
      const text = (output.parts ?? []).filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n");
      tell("chat.message", { sessionID: input.sessionID, prompt: text });
    },
    "tool.execute.before": async (input, output) => {
      const call = { sessionID: input.sessionID, tool: input.tool, callID: input.callID, args: output.args };
      if (!judges) return tell("tool.execute.before", call);
      const why = await judged("tool.execute.before", { ...call, tool_name: input.tool, tool_input: output.args, cwd: here });
      if (why) throw new Error(why);
    },
    "tool.execute.after": async (input) => {
      tell("tool.execute.after", { sessionID: input.sessionID, tool: input.tool, callID: input.callID, args: input.args });
    },
  };
};
