package upgrade

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"custos/internal/fleet"
	"custos/internal/sys/procstat"
)

// Mend is for a daemon that begins: what an upgrade has left half done is put back, the
// programs and then the ledger, before either is used. It returns what there is to say, ""
// for nothing. Where this program is not the one that lies in its place then, again is true:
// Become goes on as that. While an upgrade is at it, only the ledger is put back.
func (u *Upgrade) Mend(ctx context.Context) (said string, again bool, err error) {
	s, err := ReadState(u.Folder)
	if err != nil { // the daemon is needed more: beside a mixed set, and before a ledger that is too new, it does not begin
		return err.Error() + ": nothing is put back", false, nil
	}
	if !s.Open() || s.Dir != u.Dir {
		return "", false, nil
	}
	free, locked := lock(u.Folder, u.Dir)
	if locked == nil {
		defer free()
	}
	if s.Phase == Swapping && locked == nil {
		s.Phase, s.Why = Back, s.Words()
		_ = u.write(&s) // going back needs no room: where it cannot be written the next one begins anew with it
	}
	switch {
	case s.Phase == Watching && locked == nil:
		return s.Words() + ": custos upgrade --settle keeps it where it is well, and puts the old one back otherwise", false, nil
	case s.Phase != Back:
		return "", false, nil
	}
	if locked == nil {
		if err := u.programs().putBack(); err != nil {
			return "", false, fmt.Errorf("%s, and the old ones cannot be put back: %w", s.Words(), err)
		}
	}
	if u.From != s.From {
		return s.Words() + ": the old ones are put back", true, nil
	}
	from, err := u.restore(ctx, s.Schema)
	if err != nil {
		return "", false, fmt.Errorf("the upgrade to %s was put back, and the ledger cannot be: %w", s.To, err)
	}
	if from != "" {
		said = fmt.Sprintf("the upgrade to %s was put back, and so was the ledger, from %s; what happened since is not known", s.To, from)
	}
	if locked == nil {
		_ = u.over(&s, RolledBack, nil) // as above
	}
	return said, false, nil
}

// anew is how a program that takes the place of a daemon knows that this process had children before.
const anew = "CUSTOS_ANEW"

// Become has this process go on as the program that lies where its own lay. It returns only
// when that cannot be run.
func Become() error {
	path, err := os.Executable()
	if err == nil {
		err = syscall.Exec(path, os.Args, append(os.Environ(), anew+"="+strconv.Itoa(os.Getpid())))
	}
	return fmt.Errorf("cannot go on as the program that lies in its place: %w", err)
}

// TakeOver waits for the children that this process had as the program before, so that none
// of them stays behind when it has ended.
func TakeOver() {
	is := os.Getenv(anew)
	_ = os.Unsetenv(anew)
	if is != strconv.Itoa(os.Getpid()) {
		return
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if s, err := procstat.Read("/proc", pid); err == nil && s.PPID == os.Getpid() {
			go func() { _, _ = syscall.Wait4(pid, nil, 0, nil) }()
		}
	}
}

// Ask asks the daemon of this process, by its channel of one, to go on as the program in the
// place of its own; it refuses when that is another one than is named.
func Ask(become chan<- struct{}, program string) error {
	own, err := os.Executable()
	if err == nil && filepath.Clean(program) != own {
		err = fmt.Errorf("this daemon is %s, and not %s", own, fleet.Path(program))
	}
	if err != nil {
		return err
	}
	select {
	case become <- struct{}{}:
	default: // it was asked already
	}
	return nil
}
