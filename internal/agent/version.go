package agent

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// versionNumbers are the numbers that a version begins with: 2.1.330, v0.169.0-linux, 2026.11.20.
var versionNumbers = regexp.MustCompile(`^v?(\d{1,18}(?:\.\d{1,18}){1,5})(?:[-+_.][0-9A-Za-z.+_-]*)?$`)

// numbersOf takes a version apart; nil for what is none.
func numbersOf(version string) (out []int) {
	at := versionNumbers.FindStringSubmatch(version)
	if at == nil {
		return nil
	}
	for _, n := range strings.Split(at[1], ".") {
		i, _ := strconv.Atoi(n) // at most 18 digits
		out = append(out, i)
	}
	for len(out) > 0 && out[len(out)-1] == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// IsVersion says whether a text is a version that can be compared.
func IsVersion(text string) bool { return versionNumbers.MatchString(text) }

// Newest is the newest version on which the kind was proven; empty for one that was not.
func (k Kind) Newest() string {
	if len(k.Proven) == 0 {
		return ""
	}
	return slices.MaxFunc(k.Proven, func(a, b string) int { return slices.Compare(numbersOf(a), numbersOf(b)) })
}

// Outgrown is the newest version on which the kind was proven, where a running one is newer;
// empty where it is not, where its version is not known, and for a kind that was never proven.
// What stands behind the numbers, as of a test release or a platform, does not count.
func (k Kind) Outgrown(version string) string {
	newest := k.Newest()
	if newest == "" || !IsVersion(version) || slices.Compare(numbersOf(version), numbersOf(newest)) <= 0 {
		return ""
	}
	return newest
}

// PolicyGap says what of a policy an agent of this kind and version is not proven to be held to; empty
// where nothing is missing.
func (k Kind) PolicyGap(version string) string {
	is := strings.TrimSpace(k.Name + " " + version)
	switch {
	case len(k.Denies) == 0:
		return "nothing holds it to it: " + k.Name + " is not known to ask before it calls a tool"
	case !slices.Contains(k.Denies, version):
		return "advice that is not proven to be heard by " + is
	case !slices.Contains(k.DeniesSubagents, version):
		return "proven for " + is + ", and not for its sub-agents"
	}
	return ""
}

func (k *Kind) finishVersions() error {
	for _, of := range []struct {
		key      string
		versions []string
	}{{"proven", k.Proven}, {"denies", k.Denies}, {"denies_subagents", k.DeniesSubagents}} {
		if i := slices.IndexFunc(of.versions, func(v string) bool { return !IsVersion(v) }); i >= 0 {
			return fmt.Errorf("%s: %q is no version: want numbers with points between them, as in 2.1.330", of.key, of.versions[i])
		}
	}
	return nil
}

// Program is the file of the program that a process is: the script, where an interpreter runs
// one. Empty where that cannot be told, or the file is not there any more.
func Program(p fleet.Process) string {
	c := readCommand(p)
	file := p.Exe.Or("")
	if c.how != direct {
		file = c.script
	}
	if file != "" && !path.IsAbs(file) {
		file = path.Join(p.CWD.Or(""), file)
	}
	if !path.IsAbs(file) || strings.HasSuffix(file, " (deleted)") {
		return ""
	}
	return file
}

// hinted says whether a verdict rests on the screen of a version that is newer than what the
// marks were proven on, and on nothing else: what a CLI tells itself, or writes down, stays
// what it was.
func (r *reading) hinted(v Verdict) bool {
	onScreen := v.Source == SourceScreen || v.Source == SourceTitle && r.title.Ambiguous
	return r.Outgrown != "" && onScreen && !slices.ContainsFunc(r.signals, func(s fleet.Signal) bool {
		return s.Hint == v.State && slices.Contains([]string{SourceHook, SourceRegistry, SourceTranscript}, s.Source)
	})
}

// IsHint says in words that a screen is one.
func IsHint(kind, version, newest string) string {
	return fmt.Sprintf("%s is newer than %s, which Custos was taught: what its screen shows is a hint only", strings.TrimSpace(kind+" "+cmp.Or(version, "this version")), newest)
}
