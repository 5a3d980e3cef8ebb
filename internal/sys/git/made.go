package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Made is a commit that was made in a worktree.
type Made struct {
	At      time.Time
	Subject string // as its author wrote it
}

// mostMade bounds how far back one look goes.
const mostMade = 1000

// CommitsMade lists the commits that were made in the worktree at top since a
// moment, newest first: by its own reflog, so that what came in by a merge, a pull
// or a reset does not count, and what was merged away since does. A commit that was
// amended counts once. more says that the list was cut.
func (r *Reader) CommitsMade(ctx context.Context, top string, since time.Time) (made []Made, more bool, err error) {
	place, err := At(top)
	if err != nil {
		return nil, false, err
	}
	if !exists(filepath.Join(place.GitDir, "logs", "HEAD")) {
		return nil, false, fmt.Errorf("cannot tell what was committed in %q: git keeps no reflog of it", top)
	}
	out, err := r.git(ctx, top, "log", "-g", "-z", "--no-show-signature", "-n", strconv.Itoa(mostMade), "--date=unix",
		"--format=%H%x00%gd%x00%gs%x00%s", "HEAD", "--")
	if err != nil {
		return nil, false, err
	}
	return ParseMade(out, since)
}

// ParseMade reads what git log -g wrote.
func ParseMade(out []byte, since time.Time) (made []Made, more bool, err error) {
	fields := strings.Split(string(out), "\x00")
	n, amended := 0, false
	for ; len(fields) >= 4; fields = fields[4:] {
		n++
		at := reflogTime(fields[1])
		if at.Before(since) {
			return made, false, nil // a reflog is in the order of time
		}
		what, _, _ := strings.Cut(fields[2], ":")
		isCommit := what == "commit" || what == "commit (initial)" || what == "commit (merge)" || what == "commit (cherry-pick)" || what == "cherry-pick" || what == "revert"
		switch {
		case what == "commit (amend)":
			if !amended {
				made = append(made, Made{At: at, Subject: fields[3]})
			}
			amended = true
		case isCommit && amended: // the one that was amended
			amended = false
		case isCommit:
			made = append(made, Made{At: at, Subject: fields[3]})
		}
	}
	return made, n >= mostMade, nil
}

// reflogTime is the moment in "HEAD@{1700000000}".
func reflogTime(selector string) time.Time {
	_, text, _ := strings.Cut(selector, "@{")
	sec, err := strconv.ParseInt(strings.TrimSuffix(text, "}"), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(sec, 0)
}
