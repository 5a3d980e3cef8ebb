package conformance

import (
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// Response is one answer of the model, and what it told of its tokens. One that was
// broken off may have told of what it read, and not of all that it wrote.
type Response struct {
	ID     string // as the protocol gives it to the CLI
	Model  string
	At     time.Time
	Side   bool // the CLI's own: no shell tool was on offer
	Tokens fleet.Tokens
}

// Account returns every response that told of its tokens, in the order in which they began
// to: what the CLIs have to have written down. Errors are no responses.
func (m *Model) Account() []Response {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.account)
}

// Spent sums the account up, by model.
func (m *Model) Spent() map[string]fleet.Tokens {
	sums := map[string]fleet.Tokens{}
	for _, r := range m.Account() {
		sums[r.Model] = sums[r.Model].Add(r.Tokens)
	}
	return sums
}

// tell enters what was told of a response; what is told later of the same one stands.
func (m *Model) tell(id string, s *sink, asked Asked, side bool, output int64) {
	r := Response{ID: id, Model: asked.Model, At: time.Now().UTC(), Side: side, Tokens: s.tokens}
	r.Tokens.Output = output
	r.Tokens.Reasoning = min(r.Tokens.Reasoning, output)
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.account {
		if m.account[i].ID == r.ID {
			m.account[i].Tokens = r.Tokens
			return
		}
	}
	m.account = append(m.account, r)
}

// tokens are what the nth response uses: other numbers in each field and in each response,
// so that no two can be taken for one another.
func tokens(n int, a Asked) fleet.Tokens {
	i, before := int64(n), 100*int64(len(a.Turns))
	if slices.ContainsFunc(a.Turns, func(t Turn) bool { return t.Role == "user" && strings.Contains(t.Text, fillWords) }) {
		before += fillTokens
	}
	return fleet.Tokens{
		Input: 10 + i, CacheRead: before + i, CacheWrite5m: 20 + 3*i, CacheWrite1h: 40 + 7*i,
		Output: 30 + 11*i, Reasoning: 5 + i,
	}
}
