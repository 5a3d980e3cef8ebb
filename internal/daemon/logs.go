package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/sys/shim"
)

// Log returns what a headless agent wrote. What an instance wrote to its end comes
// before what the next one writes.
func (x screens) Log(ctx context.Context, ask control.LogAsk) (api.Log, error) {
	if ask.After == "" {
		return x.readLog(ctx, ask, ask.Instance, shim.End)
	}
	instance, text, _ := strings.Cut(ask.After, ":")
	mark, err := shim.ParseMark(text)
	if err != nil || !x.isOf(instance, ask.Agent) {
		return api.Log{}, fmt.Errorf("cannot go on after %q: %w", ask.After, fs.ErrInvalid)
	}
	l, err := x.readLog(ctx, ask, instance, goOn(mark))
	if instance == ask.Instance || err == nil && l.Text != "" {
		return l, err
	}
	return x.readLog(ctx, ask, ask.Instance, goOn(shim.Mark{}))
}

func goOn(m shim.Mark) func(dir, log string, ended bool) (shim.Output, error) {
	return func(dir, log string, ended bool) (shim.Output, error) { return shim.After(dir, log, m, ended) }
}

func (x screens) readLog(ctx context.Context, ask control.LogAsk, instance string, read func(dir, log string, ended bool) (shim.Output, error)) (api.Log, error) {
	if !shim.IsKey(instance) {
		return api.Log{}, fmt.Errorf("cannot read what %s wrote: %w", ask.Agent, fs.ErrNotExist)
	}
	dir, log := shim.Dir(x.s.world.Own.Shims, instance), shim.Stdout
	if ask.Errors {
		log = shim.Stderr
	}
	_, exit, _ := shim.Read(dir) // before the log is read: what ended writes nothing more
	ended := exit != nil || instance != ask.Instance
	out, err := read(dir, log, ended)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return api.Log{}, err
	}
	return api.Log{Instance: instance, Text: string(out.Text), Rest: string(out.Rest), Next: instance + ":" + out.Next.String(),
		Gap: out.Gap, Ended: ended}, nil
}

// isOf says whether an instance is, or was, an agent's.
func (x screens) isOf(instance, agent string) bool {
	if !shim.IsKey(instance) {
		return false
	}
	s, _, err := shim.Read(shim.Dir(x.s.world.Own.Shims, instance))
	return err == nil && s.Name == agent
}
