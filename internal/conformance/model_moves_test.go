package conformance

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// proof is the file that the scripted tool call makes, in the agent's folder; begun is
// the one that the long tool makes first: it runs, and is not asked about any more.
const (
	proof = "custos-proof"
	begun = "custos-begun"
)

// toolCommand is what the model asks the agent to run, and longCommand the one that
// takes a while, without a word.
const (
	toolCommand = "touch " + proof
	longCommand = "touch " + begun + "; sleep 12; touch " + proof
)

// loopWords are those of a prompt at which the model never ends its turn.
const loopWords = "run it again and again"

// handWords are of the prompt by which Custos asks for a hand-off, at which the model does as it
// is told with handCommand: handedOver is what the next one has to know.
const (
	handWords   = "will replace you by a fresh agent"
	handedOver  = "the proof is not made yet, and its colour is blue"
	handCommand = "echo '" + handedOver + "' | custos handoff --file -"
)

// fillWords are those of a prompt that takes fillTokens of the context from then on: six tenths
// of a million, which Claude Code 2.1.330 says that its model holds.
const (
	fillWords  = "fill the context"
	fillTokens = 600_000
)

// thinkPaces is for how many paces the model thinks before the first word.
const thinkPaces = 20

// move is what the model does.
type move int

// What the model can do.
const (
	moveSay   move = iota // a text
	moveCall              // one call of the shell tool, then a text
	moveLong              // the same, with a tool that takes twelve seconds and writes nothing
	moveLoop              // a call of the shell tool after a call of the shell tool, a pace for each, without an end
	moveHand              // what Custos asks an agent for whose context is nearly full
	moveHelp              // a call of the tool by which a sub-agent is begun, where the CLI has one, which is to call the shell tool; else a text
	moveAsk               // a question to the person, where the CLI has a tool for that; else a text
	moveSlow              // a text of 120 words, four a second
	moveThink             // nothing for five seconds, then a text
	moveLimit             // 429, to be tried again in a second
	moveReset             // 429, with a limit that is reset in an hour
	moveSoon              // 429, with one that is reset in resetsSoon
	moveLogin             // 401
	moveError             // 500
	moveBusy              // 529, or 503 where there is no such thing
	moveFull              // the conversation is too long
)

// moves are the words of a prompt, and what the model does at them. Those that come last
// count: CLIs put what a person said after an error behind what was said before.
func moves() []struct {
	words string
	move  move
} {
	return []struct {
		words string
		move  move
	}{
		{"run the tool", moveCall}, {"run the long tool", moveLong}, {loopWords, moveLoop}, {handWords, moveHand}, {"ask a question", moveAsk}, {"let a helper act", moveHelp},
		{"limit for an hour", moveReset}, {"limit", moveLimit}, {"lose the login", moveLogin},
		{"fail inside", moveError}, {"be overloaded", moveBusy}, {"be too long", moveFull},
		{"slow", moveSlow}, {"think first", moveThink},
	}
}

// command is what the shell tool is to run, if anything.
func (m move) command() string {
	return map[move]string{moveCall: toolCommand, moveLong: longCommand, moveLoop: toolCommand, moveHand: handCommand}[m]
}

// move reads the script. Requests without a shell tool are the CLI's own: for a title, a
// summary, a check of its quota.
func (m *Model) move(a Asked, main bool) move {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.summary && a.summarises() {
		m.broken, m.whole, m.summary = moveSay, true, false
	}
	if !main {
		return moveSay
	}
	if m.broken != moveSay {
		return m.broken
	}
	if move := a.move(); !m.whole || refusals()[move].status == 0 {
		return move
	}
	return moveSay
}

func (a Asked) move() move {
	prompt := a.Prompt()
	if n := len(a.Turns); n > 0 && a.Turns[n-1].Result {
		if strings.Contains(prompt, loopWords) {
			return moveLoop
		}
		return moveSay
	}
	last, found := -1, moveSay
	for _, m := range moves() {
		if at := strings.LastIndex(prompt, m.words); at > last {
			last, found = at, m.move
		}
	}
	if newest := prompt[strings.LastIndex(prompt, "\n\n")+1:]; last >= 0 && last < len(prompt)-len(newest) {
		return moveSay
	}
	return found
}

// summarises says whether a CLI asks for what is to stand for the conversation from then on.
func (a Asked) summarises() bool {
	prompt := strings.ToLower(a.Prompt())
	return strings.Contains(prompt, "summary of the conversation") || strings.Contains(prompt, "context checkpoint compaction")
}

// Break has every turn end like this one, whatever the prompt says.
func (m *Model) Break(how move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken, m.whole = how, false
}

// HealBySummary refuses nothing any more when it was asked for a summary.
func (m *Model) HealBySummary() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.summary = true
}

// Heal refuses nothing from now on.
func (m *Model) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken, m.whole = moveSay, true
}

// Spoil has the prompts decide again.
func (m *Model) Spoil() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken, m.whole = moveSay, false
}

// resetsSoon is how long after it was told the limit of moveSoon is reset.
const resetsSoon = 2 * time.Minute

// refusal is an error in place of an answer.
type refusal struct {
	status  int
	kind    string        // in Anthropic's words
	message string        // for people
	retry   time.Duration // after which it may be tried again; 0: that is not told
}

func refusals() map[move]refusal {
	return map[move]refusal{
		moveLimit: {429, "rate_limit_error", "Rate limit reached (mock)", time.Second},
		moveReset: {429, "rate_limit_error", "Usage limit reached (mock)", time.Hour},
		moveSoon:  {429, "rate_limit_error", "Usage limit reached (mock)", resetsSoon},
		moveLogin: {401, "authentication_error", "invalid x-api-key (mock)", 0},
		moveError: {500, "api_error", "Internal server error (mock)", 0},
		moveBusy:  {529, "overloaded_error", "Overloaded (mock)", 0},
		moveFull:  {400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum", 0},
	}
}

// write sets the headers of a refusal: those of RFC 9110, and Anthropic's.
func (r refusal) write(h http.Header) {
	if r.retry == 0 {
		return
	}
	h.Set("Retry-After", strconv.Itoa(int(r.retry.Seconds())))
	if r.retry < time.Minute {
		return
	}
	reset := strconv.FormatInt(time.Now().Add(r.retry).Unix(), 10)
	for k, v := range map[string]string{"status": "rejected", "reset": reset, "representative-claim": "five_hour", "overage-status": "rejected"} {
		h.Set("anthropic-ratelimit-unified-"+k, v)
	}
}
