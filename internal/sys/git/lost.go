package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// mostDiff is how large a difference may be that is looked through for what a merge lost, in bytes.
const mostDiff = 16 << 20

// mostLost and mostLostLine bound what Lost tells: how many lines, and how many bytes of each.
const mostLost, mostLostLine = 20, 200

// lost compares what the two sides brought since they forked with what their merge has. Where they forked
// more than once, nothing is told: no one commit is what both began with. What became of settled files is not asked.
func (a *apart) lost(ctx context.Context, bases []string, ours, theirs, merged string, settled ...string) ([]string, error) {
	if len(bases) != 1 {
		return nil, nil
	}
	var diffs [3][]byte
	for i, to := range []string{ours, theirs, merged} {
		out, err := a.diff(ctx, bases[0], to, settled)
		if err != nil {
			return nil, fmt.Errorf("cannot tell whether the merge lost anything: %w", err)
		}
		diffs[i] = out
	}
	return Lost(diffs[0], diffs[1], diffs[2])
}

// diff looks with no attributes at all, which could hide lines, and by the algorithm that git merges by.
func (a *apart) diff(ctx context.Context, from, to string, without []string) ([]byte, error) {
	r := *a.r
	r.max = min(r.max, mostDiff)
	env := append(slices.Clone(a.env), "GIT_WORK_TREE="+filepath.Join(a.dir, "bare"), "GIT_LITERAL_PATHSPECS=0")
	args := []string{"diff-tree", "-r", "-p", "-U0", "--no-renames", "--diff-algorithm=histogram", "--no-ext-diff", "--no-textconv",
		"--no-color", "--full-index", "--ignore-submodules=none", from, to, "--"}
	for _, path := range without {
		args = append(args, ":(exclude,top,literal)"+path)
	}
	return r.run(ctx, call{dir: filepath.Join(a.dir, "bare"), env: env, args: args})
}

// tally counts how often a line was added and taken away.
type tally struct{ added, removed int }

func (t tally) net() int { return t.added - t.removed }

// Lost returns the lines that a merge has fewer of than both sides make of them: at most 20, sorted, each
// raw and of at most 200 bytes. ours, theirs and merged are the differences from where they forked, as git
// diff -U0 writes them. It knows nothing of where lines stand, so it does not err where git does.
//
// A merge changes the number of a line by what both sides change, less what they changed alike: that is done
// once. How much was alike is not known, but it is no more than the fewer of what either added. So a line that
// only one side added and neither took away has to be there as often as that side added it; one that both
// added, as often as the one that added more; and one that both took away may be gone as often as both did.
// More than there should be is no loss. White space alone counts for nothing, and neither do binary files,
// which git takes whole from one side.
func Lost(ours, theirs, merged []byte) ([]string, error) {
	o, err := countLines(ours)
	t, err2 := countLines(theirs)
	m, err3 := countLines(merged)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	for line := range o {
		t[line] = t[line] // so that t has the lines of both
	}
	var lost []string
	for line, b := range t {
		if a := o[line]; m[line].net() < a.net()+b.net()-min(a.added, b.added) {
			lost = append(lost, line)
		}
	}
	slices.Sort(lost)
	lost = lost[:min(len(lost), mostLost)]
	for i, line := range lost {
		lost[i] = line[:min(len(line), mostLostLine)]
	}
	return lost, nil
}

// countLines counts the lines of a difference without context. A hunk's head says how many lines are its
// own, so that none is taken for something else by what it says.
func countLines(diff []byte) (map[string]tally, error) {
	lines := map[string]tally{}
	removed, added := 0, 0 // lines that are to come in this hunk
	for len(diff) > 0 {
		line, rest, _ := bytes.Cut(diff, []byte("\n"))
		diff = rest
		switch {
		case removed > 0 && bytes.HasPrefix(line, []byte("-")):
			removed--
			count(lines, line[1:], tally{removed: 1})
		case added > 0 && bytes.HasPrefix(line, []byte("+")):
			added--
			count(lines, line[1:], tally{added: 1})
		case bytes.HasPrefix(line, []byte(`\`)): // "No newline at end of file"
		case removed > 0 || added > 0:
			return nil, fmt.Errorf("cannot read a difference: %.80q is no line of its hunk", line)
		case bytes.HasPrefix(line, []byte("@@ -")):
			var err error
			if removed, added, err = hunkSize(line); err != nil {
				return nil, err
			}
		}
	}
	if removed > 0 || added > 0 {
		return nil, errors.New("cannot read a difference: it ends within a hunk")
	}
	return lines, nil
}

func count(lines map[string]tally, line []byte, by tally) {
	if len(bytes.TrimSpace(line)) > 0 {
		t := lines[string(line)]
		lines[string(line)] = tally{t.added + by.added, t.removed + by.removed}
	}
}

// hunkCounts is "@@ -FROM[,COUNT] +FROM[,COUNT] @@".
var hunkCounts = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// hunkSize reads how many lines a hunk takes away and adds: a count that is not there is one.
func hunkSize(head []byte) (removed, added int, err error) {
	at := hunkCounts.FindSubmatch(head)
	if at == nil {
		return 0, 0, fmt.Errorf("cannot read a difference: %.80q is no head of a hunk", head)
	}
	sizes := [2]int{1, 1}
	for i, count := range at[1:] {
		if len(count) > 0 {
			n, err := strconv.Atoi(string(count))
			if err != nil {
				return 0, 0, fmt.Errorf("cannot read a difference: %w", err)
			}
			sizes[i] = n
		}
	}
	return sizes[0], sizes[1], nil
}
