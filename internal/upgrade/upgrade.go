package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Upgrade is what there is to exchange, and for what.
type Upgrade struct {
	Folder  string // of the state
	Dir     string // of the programs
	From    string // version of what runs
	Ledger  Ledger
	Daemon  Daemon
	Prove   func(ctx context.Context, dir, version string) error // that the programs in a folder are those of a version, and may take over; nil: they are
	Within  time.Duration                                        // for the new daemon to be well
	Say     func(doing string)                                   // what is done now; nil: nobody is told
	At      func(point string) error                             // is asked before each change, which its error prevents; nil: none is
	running bool
}

// Ledger is copied, and put back.
type Ledger struct {
	Schema  int                                                           // that this program reads
	Backup  func(ctx context.Context) (path string, err error)            // "" where there is none
	Restore func(ctx context.Context, known int) (from string, err error) // for who reads that schema; "" where it is not too new
}

// Daemon is the one that watches, or none.
type Daemon struct {
	Runs   func() bool
	Become func(ctx context.Context) error                         // asks it to go on as the program that lies in its place
	Renew  func(ctx context.Context) error                         // ends what there is, and starts what lies in its place
	Well   func(ctx context.Context) (version string, err error)   // nil: a whole pass was made
	Alive  func() bool                                             // the process that was found, or started, last
	Wait   func(ctx context.Context, d time.Duration) (goOn error) // between two looks; nil: real time
}

var errEnded = errors.New("the daemon has ended")

// every is how often the new daemon is asked how it is.
const every = 100 * time.Millisecond

// Unpack puts the three programs of a release into a folder, and says of which version they are.
type Unpack func(ctx context.Context, dir string) error

// Run exchanges the programs for those of a version. When it fails the old ones are in place
// again, and watch; the error says why, and what could not be put back.
func (u *Upgrade) Run(ctx context.Context, to string, unpack Unpack) (State, error) {
	free, err := lock(u.Folder, u.Dir)
	if err != nil {
		return State{}, fmt.Errorf("cannot upgrade: %w", err)
	}
	defer free()
	was, err := u.settle(ctx)
	if err != nil {
		return was, fmt.Errorf("cannot upgrade: %s, and cannot be put right: %w", was.Words(), err)
	}
	if was.Dir != u.Dir && u.programs().beside() {
		return was, fmt.Errorf("cannot upgrade: %s was left by the upgrade of another state folder: custos upgrade --settle, with its configuration, puts that right", u.programs().path())
	}
	s := &State{From: u.From, To: to, Dir: u.Dir, Schema: u.Ledger.Schema, Phase: Preparing, Steps: []Step{}}
	u.running = u.Daemon.Runs()
	if err := u.prepare(ctx, s, unpack); err != nil {
		err = fmt.Errorf("cannot upgrade to %s: %w; nothing was changed", to, err)
		return *s, errors.Join(err, u.over(s, CutOff, err))
	}
	if err := u.exchange(ctx, s); err != nil {
		return *s, u.back(ctx, s, err)
	}
	return *s, u.over(s, Done, nil)
}

// prepare does all that changes nothing of what is in use, and writes down that it will be.
func (u *Upgrade) prepare(ctx context.Context, s *State, unpack Unpack) error {
	p := u.programs()
	err := u.steps(s,
		step{"unpack the new programs", func() error {
			if err := p.begin(); err != nil {
				return err
			}
			return unpack(ctx, p.next(""))
		}},
		step{"try the new programs", func() error { return u.prove(ctx, p.next(""), s.To) }},
		step{"back the ledger up", func() (err error) {
			if err = u.point("backup"); err == nil {
				s.Backup, err = u.Ledger.Backup(ctx)
			}
			return err
		}},
		step{"keep the old programs", p.keep},
	)
	if err != nil {
		return err
	}
	s.Phase = Swapping
	return u.write(s)
}

// exchange is what is put back when it fails.
func (u *Upgrade) exchange(ctx context.Context, s *State) error {
	if err := u.steps(s, step{"exchange the programs", u.programs().swap}); err != nil || !u.running {
		return err
	}
	s.Phase = Watching
	return u.steps(s,
		step{"have the daemon go on as the new one", func() error { return u.become(ctx) }},
		step{"wait until the new daemon is well", func() error { return u.well(ctx, s.To) }},
	)
}

// back puts the old programs in their places, and has them watch. They put the ledger back
// themselves where it was brought up to date, before they open it (Mend).
func (u *Upgrade) back(ctx context.Context, s *State, why error) error {
	ctx = context.WithoutCancel(ctx)
	s.Phase, s.Why = Back, why.Error()
	err := u.steps(s, step{"put the old programs back", u.programs().putBack})
	if err == nil && u.running {
		err = u.steps(s, step{"have the old daemon watch again", func() error { return u.again(ctx, s.From) }})
	} else if err == nil {
		err = u.steps(s, step{"put the ledger back", func() error { _, err := u.restore(ctx, s.Schema); return err }})
	}
	said := fmt.Errorf("%s did not prove itself, and %s is back: %w", s.To, s.From, why)
	if err != nil {
		return fmt.Errorf("%s did not prove itself: %w; and it could not be put back as it was: %w", s.To, why, err)
	}
	return errors.Join(said, u.over(s, RolledBack, nil))
}

// again has the daemon that lies in place now watch: it may have gone on all the time; by its
// own means while it lives, else anew.
func (u *Upgrade) again(ctx context.Context, version string) error {
	if is, err := u.Daemon.Well(ctx); err == nil && is == version {
		return nil
	}
	if u.Daemon.Alive() && u.become(ctx) == nil && u.well(ctx, version) == nil {
		return nil
	}
	err := u.point("renew")
	if err == nil {
		err = u.Daemon.Renew(ctx)
	}
	if err != nil {
		return err
	}
	return u.well(ctx, version)
}

func (u *Upgrade) become(ctx context.Context) error {
	if err := u.point("become"); err != nil {
		return err
	}
	return u.Daemon.Become(ctx)
}

// restore puts the ledger back for who reads a schema: the programs of before, which this one need not be.
func (u *Upgrade) restore(ctx context.Context, known int) (from string, err error) {
	if err := u.point("restore"); err != nil {
		return "", err
	}
	return u.Ledger.Restore(ctx, cmp.Or(known, u.Ledger.Schema))
}

// write puts a state on the disk.
func (u *Upgrade) write(s *State) error {
	if err := u.point("write"); err != nil {
		return err
	}
	return s.write(u.Folder)
}

var errInterrupted = errors.New("it was interrupted")

// well waits until a daemon of a version has made a whole pass.
func (u *Upgrade) well(whole context.Context, version string) error {
	ctx, cancel := context.WithTimeout(whole, u.Within)
	defer cancel()
	last := errors.New("it did not answer")
	for {
		is, err := u.Daemon.Well(ctx)
		switch {
		case err == nil && is == version:
			return nil
		case err == nil:
			last = fmt.Errorf("the daemon is of version %s still", is)
		case ctx.Err() == nil:
			last = err
		}
		if !u.Daemon.Alive() {
			return errEnded
		}
		wait := u.Daemon.Wait(ctx, every)
		if whole.Err() != nil {
			return errInterrupted
		}
		if wait != nil {
			return fmt.Errorf("the daemon of %s was not well within %s: %w", version, u.Within, last)
		}
	}
}

// Settle puts right what an upgrade that was cut off has left: the new programs stay where
// their daemon is well, else the old ones are put back.
func (u *Upgrade) Settle(ctx context.Context) (State, error) {
	free, err := lock(u.Folder, u.Dir)
	if err != nil {
		return State{}, fmt.Errorf("cannot put an upgrade right: %w", err)
	}
	defer free()
	return u.settle(ctx)
}

func (u *Upgrade) settle(ctx context.Context) (State, error) {
	s, err := ReadState(u.Folder)
	switch {
	case err != nil:
		return s, err
	case s.Dir != u.Dir && !s.Open():
		return s, nil
	case s.Phase == Preparing:
		return s, u.over(&s, CutOff, nil)
	case !s.Open():
		return s, u.programs().forget()
	case s.Dir != u.Dir:
		return s, fmt.Errorf("its programs lie in %s, and this one in %s", s.Dir, u.Dir)
	}
	u.running = u.Daemon.Runs()
	if s.Phase == Watching && u.running && u.programs().kept() && u.well(ctx, s.To) == nil {
		return s, u.over(&s, Done, nil)
	}
	if err := u.back(ctx, &s, errors.New(cmp.Or(s.Why, s.Words()))); s.Phase != RolledBack {
		return s, err
	}
	return s, nil
}

// over ends it, and takes away what lies beside the programs.
func (u *Upgrade) over(s *State, as Phase, why error) error {
	if s.Phase = as; why != nil {
		s.Why = why.Error()
	}
	if as == CutOff { // what lies beside is of no use, and takes the room that writing needs
		return errors.Join(u.programs().forget(), u.write(s))
	}
	if err := u.write(s); err != nil {
		return err // what is kept is needed by who puts it right
	}
	return u.programs().forget()
}

// step is one thing that is done, in the words in which it is journalled.
type step struct {
	do  string
	run func() error
}

// steps does one after the other: each is written down before, and as it ended.
func (u *Upgrade) steps(s *State, list ...step) error {
	for _, one := range list {
		if u.Say != nil {
			u.Say(one.do)
		}
		s.Steps = append(s.Steps, Step{Do: one.do, Began: time.Now().UTC()})
		if err := u.write(s); err != nil && s.Phase != Back { // going back needs no room
			return err
		}
		err := one.run()
		now, last := time.Now().UTC(), &s.Steps[len(s.Steps)-1]
		if last.Ended = &now; err != nil {
			last.Error = err.Error()
			return fmt.Errorf("cannot %s: %w", one.do, err)
		}
	}
	return nil
}

func (u *Upgrade) point(what string) error {
	if u.At == nil {
		return nil
	}
	return u.At(what)
}

func (u *Upgrade) programs() programs { return programs{u.Dir, u.point} }

func (u *Upgrade) prove(ctx context.Context, dir, version string) error {
	if u.Prove == nil {
		return nil
	}
	return u.Prove(ctx, dir, version)
}
