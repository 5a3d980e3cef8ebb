package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// spoken is the log of a Custos that lives for one command only: what went wrong is
// one sentence for the person at the screen, and what follows from it none. What a
// daemon has to say goes to its log.
type spoken struct {
	out   io.Writer
	width int // as of Env.ErrWidth
	once  *sync.Once
	why   string // what With was given of an error
}

func newSpoken(e Env) *spoken { return &spoken{out: e.Stderr, width: e.ErrWidth, once: &sync.Once{}} }

// Enabled says that only what is wrong is said.
func (s *spoken) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle says the first of it.
func (s *spoken) Handle(_ context.Context, r slog.Record) error {
	why := s.why
	r.Attrs(func(a slog.Attr) bool { why = reasonIn(a, why); return true })
	s.once.Do(func() {
		text := strings.ToLower(r.Message[:min(1, len(r.Message))]) + r.Message[min(1, len(r.Message)):]
		if why != "" {
			text += ": " + why
		}
		fmt.Fprintf(s.out, "%s\ntry: custos doctor\n", fold("custos: "+flat(text), s.width))
	})
	return nil
}

// WithAttrs keeps why.
func (s *spoken) WithAttrs(all []slog.Attr) slog.Handler {
	why := s.why
	for _, a := range all {
		why = reasonIn(a, why)
	}
	return &spoken{s.out, s.width, s.once, why}
}

// WithGroup changes nothing: groups are not said.
func (s *spoken) WithGroup(string) slog.Handler { return s }

// reasonIn is the reason, when an attribute is one.
func reasonIn(a slog.Attr, other string) string {
	if a.Key == "err" || a.Key == "why" {
		return a.Value.String()
	}
	return other
}
