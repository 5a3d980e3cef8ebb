package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/sys/files"
)

// reply says whether a person's reply lies there that may be taken: one that only
// our user can have written, after it was asked for. One that may not be is not
// known, and why.
func reply(all []fleet.Run, r fleet.Run, now fleet.Instant) fleet.Leaf[bool] {
	spool := r.ReplyFiles()
	if spool == nil || r.Session.End == "" {
		return fleet.Known(false)
	}
	for i, file := range spool {
		there, err := newer(file, r.Session.AsksAt, now)
		switch {
		case err != nil:
			return fleet.Unknown[bool](fleet.Line(fleet.Path(file)+": "+err.Error(), 300))
		case there && i > 0 && claimants(all, r) > 1:
			return fleet.Unknown[bool](fmt.Sprintf("%s may be meant for another run of %s: call it %s", fleet.Path(file), r.Formula, fleet.Path(spool[0])))
		case there:
			return fleet.Known(true)
		}
	}
	return fleet.Known(false)
}

var errOlder = errors.New("it is older than the question")

// newer says whether there is a file of ours with something in it, last written
// after a moment.
func newer(file string, asked, now fleet.Instant) (bool, error) {
	f, info, err := files.OpenOwn(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	switch {
	case info.Size == 0 || isFresh(info, now): // it is just being written
		return false, nil
	case !asked.IsZero() && !written(info.Modified(), asked, now):
		return false, errOlder
	}
	return true, nil
}

// isFresh says whether a file was written a moment ago: who writes it may go on.
func isFresh(info files.Info, now fleet.Instant) bool {
	age := now.Wall.Sub(info.Modified())
	return age > -time.Second && age < time.Second
}

// claimants counts the runs that a reply under the name of the run's formula may be
// meant for.
func claimants(all []fleet.Run, r fleet.Run) (n int) {
	for _, o := range all {
		if o.ID == r.ID || o.Formula == r.Formula && ledger.AwaitsReply(o) {
			n++
		}
	}
	return n
}
