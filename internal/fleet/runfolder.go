package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// What lies in the folder of a run (Run.Dir):
//
//	phase         how the agent reports where it stands
//	scratch.md    what the agent keeps for itself
//	prompt.md     what the agent is prompted with
//	compact.md    what it is prompted with again after its context was compacted
//	prepared      of which state of the run these two are
//	lock          which file is the factory's lock that is held for it
//	steps/KEY/    one attempt at a step: its script, what its shim wrote, its output
const (
	RunPhaseFile   = "phase"
	RunScratchFile = "scratch.md"
	RunPromptFile  = "prompt.md"
	RunCompactFile = "compact.md"
	RunStampFile   = "prepared"
	RunLockFile    = "lock"
	RunStepsFolder = "steps"
	// RunNotStarted lies in the folder of an attempt that could not be started, and
	// says why: nothing of it ever ran.
	RunNotStarted = "not-started"
)

// StepKey names one attempt at a step within its run, and the folder of its shim:
// step and attempt as they are, or, where a shim would not take that, a hash.
func StepKey(step string, attempt int) string {
	n := "." + strconv.Itoa(attempt)
	if len(step) <= 100 && step != "" && step[0] != '.' && !strings.ContainsFunc(step, notInKey) {
		return step + n
	}
	sum := sha256.Sum256([]byte(step))
	return "step-" + hex.EncodeToString(sum[:])[:24] + n
}

func notInKey(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
}

// File returns the path (raw) of a file in the run's folder.
func (r Run) File(name string) string { return path.Join(RawPath(r.Dir), name) }

// LockPath returns where the factory's own lock is (raw); "" for none.
func (r Run) LockPath() string {
	lock := RawPath(r.Lock)
	if lock == "" || path.IsAbs(lock) {
		return lock
	}
	return path.Join(RawPath(r.Work), lock)
}

// StepsDir returns the folder (raw) of all attempts at all steps.
func (r Run) StepsDir() string { return r.File(RunStepsFolder) }

// StepDir returns the folder (raw) of one attempt at a step.
func (r Run) StepDir(step string, attempt int) string {
	return path.Join(r.StepsDir(), StepKey(step, attempt))
}

// replyEnding ends the names of files in which people reply to escalations: the
// seed's.
const replyEnding = "-escalation-reply"

// ReplyFile is how the file of a reply is called for a run, or a formula.
func ReplyFile(name string) string { return url.PathEscape(name) + replyEnding }

// ReplyFiles returns where a person's reply is looked for (raw), in this order:
// under the run's own name, and under its formula's. nil: nowhere.
func (r Run) ReplyFiles() []string {
	if r.Session == nil || r.Session.Reply == "" {
		return nil
	}
	ours := RawPath(r.Session.Reply)
	return []string{path.Join(path.Dir(ours), ReplyFile(r.ID)), ours}
}

// TakenReply returns where (raw) the n-th reply lies from when it was taken until
// the agent has it; FiledReply, where it is kept after that.
func (r Run) TakenReply(n int) string { return r.reply(n, "taken") }

// FiledReply is where (raw) the n-th reply is kept once the agent has it.
func (r Run) FiledReply(n int) string { return r.reply(n, "done") }

func (r Run) reply(n int, how string) string {
	files := r.ReplyFiles()
	if files == nil {
		return ""
	}
	return files[0] + "." + strconv.Itoa(n) + "." + how
}

// markerPrefix makes the name in a step's marker differ from that of any agent
// that is named after what it does.
const markerPrefix = "run/"

// MarkerName is the name under which the steps of the run are started: the shim's
// marker of a step is this, ':' and its StepKey. So a process that calls Custos from
// within a step is known to belong to the run.
func (r Run) MarkerName() string { return markerPrefix + r.ID }

// RunOfMarker is the run whose steps are started under a name; ok is false for any other name.
func RunOfMarker(name string) (id string, ok bool) {
	id, ok = strings.CutPrefix(name, markerPrefix)
	return id, ok && !strings.Contains(id, "/")
}

// TownTools is the folder, within that of the tools of formulas, of what only those
// of Gas Town are given: gt and bd.
const TownTools = "gastown"

// ToolDirs are the folders that come first in the PATH of what a run starts; none
// where there are no tools.
func ToolDirs(tools string, town bool) []string {
	switch {
	case tools == "":
		return nil
	case town:
		return []string{path.Join(tools, TownTools), tools}
	}
	return []string{tools}
}
