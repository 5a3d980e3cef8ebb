package tmux

import (
	"sync"

	"custos/internal/fleet"
)

// redacted remembers what texts are without their secrets, from one look to the next:
// start commands and most titles stay as they are, and redaction was most of what a look
// at 200 panes cost.
type redacted struct {
	mu        sync.Mutex
	last, now map[string]string
}

// begin forgets what the look before the last one saw.
func (r *redacted) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.now = r.now, map[string]string{}
}

// of is text without its secrets.
func (r *redacted) of(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	safe, ok := r.last[text]
	if !ok {
		safe = fleet.Redact(text)
	}
	if r.now != nil {
		r.now[text] = safe
	}
	return safe
}
