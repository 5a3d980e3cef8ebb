package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// headless is the program without a screen: one turn, or one for each line of
// standard input.
func (a *agent) headless() error {
	if a.lost != nil {
		return a.lost
	}
	a.hook("SessionStart", map[string]any{"source": a.source()})
	for c := range strings.SplitSeq(a.fake, ";") {
		word, rest, _ := strings.Cut(strings.TrimSpace(c), " ")
		a.always(word, rest)
	}
	if a.streamIn {
		a.converse()
	} else if status := a.once(); status != 0 {
		a.end(status)
	}
	a.hook("SessionEnd", map[string]any{"reason": "other"})
	a.unregister()
	return nil
}

func (a *agent) once() int {
	if a.prompt == "" {
		b, err := io.ReadAll(io.LimitReader(os.Stdin, 10<<20))
		if err != nil {
			return 1
		}
		a.prompt = strings.TrimSpace(string(b))
	}
	if a.prompt == "" {
		fmt.Fprintln(os.Stderr, "Error: Input must be provided either through stdin or as a prompt argument when using --print")
		return 1
	}
	return a.answerOnce(a.prompt)
}

// converse reads user messages, one a line, until its input ends.
func (a *agent) converse() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 10<<20)
	for in.Scan() {
		var m struct {
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		a.answerOnce(words(m.Message.Content))
	}
}

// words are the text of a message: plain, or in blocks.
func words(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		text += b.Text
	}
	return text
}

// answerOnce takes one prompt, and returns the exit status it makes.
func (a *agent) answerOnce(prompt string) int {
	a.write(map[string]any{"type": "system", "subtype": "init", "cwd": a.cwd, "tools": []string{"Bash"}, "model": "mock"})
	a.note("prompt", prompt)
	a.set("busy", "")
	a.hook("UserPromptSubmit", map[string]any{"prompt": prompt})
	t := &turn{agent: a, reply: "MOCK-REPLY: " + firstLine(prompt)}
	var denied []any
	if commands, ok := a.told(prompt); ok {
		t.reply = "done."
		denied = t.doHeadless(commands)
	}
	result := map[string]any{"type": "result", "subtype": "success", "is_error": t.failed != "", "result": t.reply, "total_cost_usd": 0.01,
		"usage": map[string]any{"input_tokens": 10, "output_tokens": 5}, "permission_denials": denied}
	status := 0
	if t.failed != "" {
		result["api_error_status"] = map[string]int{"rate_limit": 429, "authentication_failed": 401, "invalid_request": 400}[t.failed]
		result["result"], status = "API Error: "+t.failed, 1
	} else {
		t.remember("reply", t.reply)
		a.write(map[string]any{"type": "assistant", "message": map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "text", "text": t.reply}}}})
	}
	t.silent = true
	t.finish()
	a.write(result)
	if !a.streamOut {
		fmt.Println(result["result"])
	}
	return status
}

// doHeadless does commands; what a dialog would ask for is refused, as it is
// when nobody can be asked, and a tool and a limit have lines of their own.
func (t *turn) doHeadless(commands []string) (denied []any) {
	denied = []any{}
	for _, c := range commands {
		c = strings.TrimSpace(c)
		word, rest, _ := strings.Cut(c, " ")
		if t.failed != "" {
			break
		}
		switch word {
		case "": // nothing
		case "dialog":
			call := t.toolCall(rest)
			t.write(toolUse(call))
			denied = append(denied, call)
		case "tool", "loop":
			call := t.toolCall(rest)
			t.write(toolUse(call))
			t.do(c)
			t.write(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": call["tool_use_id"], "content": "", "is_error": false}}}})
		case "ratelimit":
			t.write(map[string]any{"type": "rate_limit_event", "rate_limit_info": map[string]any{"status": "rejected",
				"resetsAt": t.started.Add(duration(rest, 3600e9)).Unix(), "rateLimitType": "five_hour"}})
			t.do(c)
		default:
			t.do(c)
		}
	}
	return denied
}

func toolUse(call map[string]any) map[string]any {
	return map[string]any{"type": "assistant", "message": map[string]any{"role": "assistant", "content": []any{
		map[string]any{"type": "tool_use", "id": call["tool_use_id"], "name": call["tool_name"], "input": call["tool_input"]}}}}
}

// write writes one line of the stream.
func (a *agent) write(line map[string]any) {
	if !a.streamOut {
		return
	}
	line["session_id"] = a.id
	b, err := json.Marshal(line)
	if err != nil {
		return
	}
	fmt.Println(string(b))
}
