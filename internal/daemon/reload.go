package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
)

// rereadConfig is how often custos.toml is looked at. What was written since is read
// when two looks in a row have found the same: a file may be seen half written.
const rereadConfig = 2 * time.Second

// reloader follows custos.toml. What is good comes into force, by a turnover of the
// whole daemon; of what is not the daemon says so, and keeps what it has.
type reloader struct {
	inForce config.Config
	read    func() (said []byte, load func() (config.Config, error)) // the file and those of kinds as they are now, and what they mean
	try     func(config.Config) error                                // what its parts say of it
	look    func()                                                   // has Custos looked at itself
	next    chan config.Config                                       // one that is good

	seen    []byte // by the last look
	judged  []byte // what trouble is about; nil: nothing yet
	trouble atomic.Pointer[string]
}

// says is what is wrong with the file, "" when what it says is in force.
func (r *reloader) says() string {
	if t := r.trouble.Load(); t != nil {
		return *t
	}
	return ""
}

// follow looks at the file now and then, and at once when it is asked to, until ctx
// ends or a new file comes into force.
func (r *reloader) follow(ctx context.Context, asked <-chan os.Signal) {
	r.seen, r.judged = r.inForce.Said(), r.inForce.Said()
	clock := time.NewTicker(rereadConfig)
	defer clock.Stop()
	for {
		forced := false
		select {
		case <-ctx.Done():
			return
		case <-asked:
			forced = true
		case <-clock.C:
		}
		if cfg, ok := r.step(forced); ok {
			r.next <- cfg
			return
		}
	}
}

// step is one look: ok when what it found is to come into force.
func (r *reloader) step(forced bool) (cfg config.Config, ok bool) {
	text, load := r.read()
	settled := forced || bytes.Equal(text, r.seen)
	r.seen = text
	if !settled || !forced && bytes.Equal(text, r.judged) {
		return cfg, false
	}
	r.judged = text
	if !forced && bytes.Equal(text, r.inForce.Said()) {
		r.tell(nil) // as it was again
		return cfg, false
	}
	cfg, err := load()
	if err == nil {
		err = r.wrong(cfg, forced)
	}
	r.tell(err)
	return cfg, err == nil
}

// wrong says why a file that can be read does not come into force.
func (r *reloader) wrong(cfg config.Config, forced bool) error {
	was := r.inForce
	switch {
	case len(bytes.TrimSpace(cfg.Text)) == 0 && len(bytes.TrimSpace(was.Text)) > 0 && !forced:
		return errors.New("it is empty, or gone: SIGHUP has it taken as it is")
	case cfg.StateDir != was.StateDir || cfg.RuntimeDir != was.RuntimeDir || cfg.JournalDir != was.JournalDir:
		return errors.New("it names other folders: those take custos down and custos up")
	}
	return r.try(cfg)
}

func (r *reloader) tell(err error) {
	text := ""
	if err != nil {
		text = fleet.Line(fmt.Sprintf("%s was changed, and what it says is not in force: %v", fleet.Path(r.inForce.File), err), 400)
	}
	r.trouble.Store(&text)
	r.look()
}

// newReloader follows the file of the daemon that s is.
func (s *system) newReloader() *reloader {
	o := config.Options{File: s.cfg.File, Sections: Sections()}
	return &reloader{
		inForce: s.cfg,
		next:    make(chan config.Config, 1),
		look: func() {
			if why := s.reload.says(); why != "" {
				s.o.Log.Warn("The configuration stays as it was", "why", why)
			}
			s.board.LookNow(fleet.PartSelf)
		},
		read: func() ([]byte, func() (config.Config, error)) {
			text, err := config.ReadFile(o.File, config.LargestFile)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, func() (config.Config, error) { return config.Config{}, err }
			}
			with := o
			with.ReadFile = func(string) ([]byte, error) { return text, nil }
			return config.Config{Text: text, Kinds: config.KindFiles(o.File), Joined: config.Joined(s.cfg.StateDir)}.Said(), func() (config.Config, error) { return config.Load(with) }
		},
		try: func(cfg config.Config) error {
			_, err := build(cfg, s.o, as{what: onewriter.Daemon, every: cfg.PatrolEvery, tell: s.o.Stderr})
			return err
		},
	}
}
