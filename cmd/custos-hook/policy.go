package main

import (
	"encoding/json"
	"fmt"
	"os"

	"custos/internal/hookwire"
	"custos/internal/policy"
)

// policyVar names the compiled policy of the agent; it is only set where there is one.
const policyVar = "CUSTOS_POLICY"

// mostJudged is how much of a call is read where it is judged: what is cut off could not be.
const mostJudged = 16 << 20

func mostKept(compiled string) int {
	if compiled != "" {
		return mostJudged
	}
	return maxStdin
}

// answers says how a kind of CLI is answered before it calls a tool. What a CLI cannot do is
// made stricter, and never weaker: one that cannot ask a person denies.
//
//   - claude: code.claude.com/docs/en/hooks, PreToolUse
//   - qwen: qwenlm.github.io/qwen-code-docs, hooks, PreToolUse
//   - codex: codex-rs/hooks/schema/generated/pre-tool-use.command.output.schema.json; it takes
//     "ask" for a fault of the hook, and goes on (openai/codex pull request 20756)
//   - gemini: geminicli.com/docs/hooks/reference, BeforeTool
//   - opencode and pi: our own plugin in them, internal/agent/hooks
var answers = map[string]answer{
	"claude": {event: "PreToolUse", asks: true, context: true},
	"qwen":   {event: "PreToolUse", asks: true, context: true},
	"codex":  {event: "PreToolUse"},
	"gemini": {event: "BeforeTool", flat: true},

	"opencode": {event: "tool.execute.before", flat: true},
	"pi":       {event: "tool_execution_start", flat: true},
}

type answer struct {
	event   string
	asks    bool // it can ask a person
	context bool // a warning reaches the model
	flat    bool // {"decision": …} instead of hookSpecificOutput
}

type specific struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision,omitempty"`
	Reason   string `json:"permissionDecisionReason,omitempty"`
	Context  string `json:"additionalContext,omitempty"`
}

type output struct {
	Specific *specific `json:"hookSpecificOutput,omitempty"`
	Decision string    `json:"decision,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"systemMessage,omitempty"`
}

// meant is what comes of a verdict: a CLI that cannot ask denies.
func (a answer) meant(v policy.Verdict, told string) (policy.Verdict, string) {
	if v == policy.Ask && !a.asks {
		return policy.Deny, told + " This CLI cannot ask a person here: ask one yourself."
	}
	return v, told
}

// say is the JSON of a verdict; "" for none.
func (a answer) say(v policy.Verdict, told string) string {
	var o output
	switch {
	case v == policy.None:
		return ""
	case v == policy.Warn && a.context:
		o.Specific = &specific{Event: a.event, Context: told}
	case v == policy.Warn:
		o.Message = told
	case a.flat:
		o.Decision, o.Reason = string(v), told
	default:
		o.Specific = &specific{Event: a.event, Decision: string(v), Reason: told}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "" // texts always marshal
	}
	return string(text) + "\n"
}

// judged is what came of a call before it is made.
type judged struct {
	said   string // to the CLI; "" where nothing speaks against the call
	denied string // the rule that keeps it from being made; "" where none does
}

// judge judges a call. Where no policy is named, and for a CLI or an event of which it is not
// known how it is answered, nothing speaks against it. used is called for a grant for one call that
// cannot be taken away from here.
func judge(file string, o order, payload []byte, used func(rule string)) judged {
	a, known := answers[o.kind]
	if file == "" || !known || o.event != a.event {
		return judged{}
	}
	v, rule, told := verdict(file, payload, used)
	v, told = a.meant(v, told)
	j := judged{said: a.say(v, told)}
	if v == policy.Deny {
		j.denied = rule
	}
	return j
}

// verdict judges a call by a compiled policy. What cannot be judged is denied, and why is said.
func verdict(file string, payload []byte, used func(rule string)) (v policy.Verdict, rule, told string) {
	defer func() {
		if recover() != nil {
			v, rule, told = policy.Deny, policy.Unjudged, policy.NoVerdict
		}
	}()
	c, err := read(file)
	if err != nil {
		return policy.Deny, policy.Unjudged, fmt.Sprintf("Custos cannot read the policy of this agent, and denies what it cannot judge: %v. Tell a person: a start of the agent writes it anew.", err)
	}
	var call struct {
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
		Cwd   string          `json:"cwd"`
	}
	if err := json.Unmarshal(payload, &call); err != nil || call.Tool == "" {
		return policy.Deny, policy.Unjudged, "Custos cannot read what this call is, and denies what it cannot judge. Tell a person."
	}
	d := decide(file, c, c.Call(call.Tool, call.Cwd, call.Input), used)
	if d.Verdict == policy.None {
		return d.Verdict, "", ""
	}
	return d.Verdict, d.Rule, d.Told(c.Policy.Name)
}

// decide judges a call without the rules that a person granted it. What is granted for one call is used up only where
// the call is then made.
func decide(file string, c policy.Compiled, call policy.Call, used func(rule string)) policy.Decision {
	deeds, left := call.Deeds(), c.Policy
	all := left.Judge(deeds, call.Places)
	d := all
	var grants []*grant
	for d.Verdict == policy.Deny || d.Verdict == policy.Ask {
		g, is := granted(file, c, d.Rule)
		if !is {
			return d
		}
		grants, left = append(grants, g), left.Without(d.Rule)
		d = left.Judge(deeds, call.Places)
	}
	for _, g := range grants {
		if !g.use(used) {
			return all
		}
	}
	return d
}

func read(file string) (policy.Compiled, error) {
	text, err := small(file, 5<<20)
	if err != nil {
		return policy.Compiled{}, err
	}
	c, err := policy.Decode(text)
	if agent, instance := hookwire.Marker(os.Getenv(hookwire.MarkerVar)); err == nil && instance != "" && (c.Agent != agent || c.Instance != instance) {
		err = fmt.Errorf("it is that of %q", c.Agent)
	}
	fresh(&c.Places)
	return c, err
}
