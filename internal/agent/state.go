package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// The sources of what is known about an agent, most trusted first.
const (
	SourceProcess  = "process"
	SourceRegistry = "registry"
	SourceTmux     = "tmux" // a dead pane's exit status
	SourceTitle    = "title"
	// SourceTranscript is the file in which the CLI keeps the conversation.
	SourceTranscript = "transcript"
	SourceCPU        = "cpu"
	SourceActivity   = "activity"
	SourceScreen     = fleet.SourceScreen
	SourceNone       = "none"
)

// Thresholds of State. An idle agent CLI with its interface up uses 0 to 3
// percent of a core; one that is at work, with its tools, more than 10.
const (
	busyCPU     = 10.0
	justNow     = 3 * time.Second
	startupTime = 15 * time.Second
)

// Signals is everything seen of one agent. What was not seen is unknown.
type Signals struct {
	Kind      Kind
	Version   string // of the CLI; empty where that is not known
	Outgrown  string // the newest version that the kind was proven on, where that is older; see Kind.Outgrown
	OneShot   bool   // writes plain text: title and screen mean nothing
	Suspended bool   // stopped by a signal (state T)
	Age       fleet.Leaf[fleet.Duration]
	Registry  fleet.Leaf[Registry]
	CPU       fleet.Leaf[float64]        // percent of one core, whole tree
	Activity  fleet.Leaf[fleet.Duration] // since the pane last wrote anything
	Title     fleet.Leaf[string]
	Screen    fleet.Leaf[string]
	Seen      Seen     // what was read of an earlier screen, which may be the same; none at first
	Told      Reported // by hooks; zero for an agent that has none
	Written   Reported // by its transcript; zero for an agent that has none
	Now       fleet.Instant
	Hooked    bool   // started by Custos with hooks: it has to tell that it began
	Deaf      string // why its CLI ignores those hooks; empty when nothing is known to keep it from them
	Unheard   string // why it is not known what hooks told; empty where it is
	Veil      Veil   // what keeps its terminal from being seen
	End       *End   // set when the agent's process is gone
}

// Veil says that the terminal server an agent runs in does not answer.
type Veil struct {
	Why   string        // empty when it answers, or there is none
	Since fleet.Instant // of the first look that it kept from seeing
}

// Verdict is what an agent is doing, and why that is believed.
type Verdict struct {
	State   fleet.AgentState
	Reason  string
	Source  string
	Since   fleet.Instant // zero when the source does not tell since when
	Signals []fleet.Signal
	Hint    bool // it rests alone on the screen of a version that is newer than what is known
	Broken  bool // it is idle, by what is newer than its hooks: they tell of no end of a turn that a person broke off, nor of its tools'
}

// State turns signals into one state: the most trusted signal that says
// anything decides. docs/states.md has the order.
func State(s Signals) Verdict {
	if s.End != nil {
		return ended(*s.End)
	}
	r := reading{Signals: s}
	r.read()
	v := r.begun(r.judge())
	broken := v.State == fleet.StateIdle && v.Source != SourceHook
	v = r.fullness(v)
	v.Broken = broken
	if r.deaf() {
		v.Reason += "; its hooks are ignored"
	} else if Deaf(s).Or("") != "" {
		v.Reason += "; nothing is heard of its hooks"
	}
	if v.Hint = r.hinted(v); v.Hint {
		v.Reason += "; " + IsHint(r.Kind.Name, r.Version, r.Outgrown)
	}
	v.Signals = r.signals
	return v
}

// reading holds the signals of a live agent, read.
type reading struct {
	Signals
	signals  []fleet.Signal
	title    TitleMark
	titled   bool
	screen   ScreenMark
	screened bool
}

// read turns every signal into words, for people, whether it decides or not.
func (r *reading) read() {
	if r.Suspended {
		r.add(SourceProcess, "the process is suspended", fleet.StateStopped)
	}
	if r.Told.State != "" {
		r.signals = append(r.signals, fleet.Signal{Source: SourceHook, Says: r.Told.Says, Hint: r.Told.State, Age: r.since(r.Told.Since)})
	}
	if r.Told.State == "" && !r.Told.Begun.IsZero() { // what begins may ask something before its prompt is there
		r.signals = append(r.signals, fleet.Signal{Source: SourceHook, Says: "it has begun, and taken no prompt yet", Hint: fleet.StateIdle, Age: r.since(r.Told.Begun)})
	}
	if r.deaf() {
		r.add(SourceHook, "its hooks are ignored: "+r.Deaf, "")
	}
	if t := r.Told.Tool; t != nil {
		r.signals = append(r.signals, fleet.Signal{Source: SourceHook, Says: toolWords(t.Name) + " is in flight", Hint: fleet.StateWorking, Age: fleet.Known(t.Age)})
	}
	if r.Written.State != "" {
		r.signals = append(r.signals, fleet.Signal{Source: SourceTranscript, Says: r.Written.Says, Hint: r.Written.State, Age: r.since(r.Written.Since)})
	}
	if reg, ok := r.Registry.Get(); ok {
		hint, says, _ := reg.state()
		r.add(SourceRegistry, says, hint)
	}
	if title, ok := r.Title.Get(); ok && !r.OneShot {
		if r.title, r.titled = r.Kind.readTitle(title); r.titled {
			r.add(SourceTitle, r.title.Says, fleet.AgentState(r.title.State))
		}
	}
	if cpu, ok := r.CPU.Get(); ok {
		r.add(SourceCPU, fmt.Sprintf("its processes use %.0f %% of a core", cpu), hintIf(cpu >= busyCPU, fleet.StateWorking))
	}
	if idle, ok := r.Activity.Get(); ok {
		r.signals = append(r.signals, fleet.Signal{Source: SourceActivity, Says: "its window was last written to",
			Hint: hintIf(time.Duration(idle) <= justNow, fleet.StateWorking), Age: r.Activity})
	}
	if text, ok := r.Screen.Get(); ok && !r.OneShot {
		seen := r.Seen.Again(r.Kind, text)
		if r.screen, r.screened = seen.mark, seen.marked; r.screened {
			r.add(SourceScreen, r.screen.Says, fleet.AgentState(r.screen.State))
		}
	}
}

func (r *reading) add(source, says string, hint fleet.AgentState) {
	r.signals = append(r.signals, fleet.Signal{Source: source, Says: says, Hint: hint,
		Age: fleet.Unknown[fleet.Duration]("not told")})
}

func hintIf(ok bool, s fleet.AgentState) fleet.AgentState {
	if ok {
		return s
	}
	return ""
}

// judge asks the signals in the order of trust.
func (r *reading) judge() Verdict {
	for _, ask := range []func() (Verdict, bool){
		r.bySuspension, r.byVeil, r.byFailure, r.byWrittenFailure, r.byBanner, r.byHook, r.byRegistry, r.byBusyTitle, r.byDialog, r.byFarewell, r.byTranscript, r.byIdleTitle, r.byCPU, r.byScreen, r.byAge, r.byActivity, r.bySilentStart,
	} {
		if v, ok := ask(); ok {
			return v
		}
	}
	return Verdict{State: fleet.StateUnknown, Reason: r.whyUnknown(), Source: SourceNone}
}

func (r *reading) bySuspension() (Verdict, bool) {
	return Verdict{State: fleet.StateStopped, Reason: "suspended by a signal or Ctrl-Z", Source: SourceProcess}, r.Suspended
}

// byVeil: an agent may have come to wait for a terminal server that does not
// answer, and what was told of it before may be over. What it told since counts.
func (r *reading) byVeil() (Verdict, bool) {
	told := r.Told.State != "" && r.Veil.Since.Before(r.Told.Turn)
	return Verdict{State: fleet.StateUnknown, Reason: r.Veil.Why, Source: SourceNone}, r.Veil.Why != "" && !told
}

// byFailure: hooks tell by name what ended the turn.
func (r *reading) byFailure() (Verdict, bool) {
	s := r.Told.State
	return r.fromHook(), s == fleet.StateRateLimited || s == fleet.StateAuthLost
}

// byHook: what the agent told itself, unless something that is newer says
// otherwise. That is needed because two things are never told by hook: that a
// person answered a request, and that a person interrupted a turn.
func (r *reading) byHook() (Verdict, bool) {
	if r.Told.State == "" {
		return Verdict{}, false
	}
	if v, ok := r.newerRegistry(); ok && (r.Told.State != fleet.StateContextHigh || v.State != fleet.StateIdle) {
		return v, true // who rests is no less full
	}
	if v, ok := r.newerTitle(r.Told); ok {
		return v, true
	}
	if r.newerTranscript() {
		return r.fromTranscript(), true
	}
	if v, ok := r.newerDialog(); ok {
		return v, true
	}
	return r.fromHook(), true
}

// newerDialog: what a person opens at a free prompt, and what a CLI asks before it takes
// a prompt, no hook tells. A screen that is read that long after the last event was drawn
// after it.
func (r *reading) newerDialog() (Verdict, bool) {
	v, ok := r.byDialog()
	return v, ok && r.screen.Untold && r.Told.State == fleet.StateIdle && r.Now.Since(r.Told.Last) >= hookSettles
}

// writtenLater is how much later than a hook a line of a transcript must have been written
// to tell of something else: both are written at about the same time.
const writtenLater = time.Second

// newerTranscript: the transcript tells of something that came after the last hook event.
// What asks is answered by a new turn, or by the end of this one, not by a tool beside it.
func (r *reading) newerTranscript() bool {
	w := r.Written
	later := w.Last.Since(r.Told.Turn)
	if w.State == "" || w.State == r.Told.State || later <= writtenLater && !(later > 0 && r.endWritten()) {
		return false
	}
	return r.Told.State != fleet.StateWaiting || w.State != fleet.StateWorking || w.Prompt.Since(r.Told.Turn) > writtenLater
}

// endWritten: the transcript tells of the end of the very turn of which hooks told last. A
// turn may end by an error as soon as it began, of which some CLIs tell no hook.
func (r *reading) endWritten() bool {
	w, t := r.Written, r.Told
	return t.State == fleet.StateWorking && w.State != fleet.StateWorking && !w.Prompt.IsZero() && t.Prompt.Since(w.Prompt) <= writtenLater/2
}

// byWrittenFailure: the transcript names what ended the turn, and no hook told of anything
// since.
func (r *reading) byWrittenFailure() (Verdict, bool) {
	s := r.Written.State
	failed := s == fleet.StateRateLimited || s == fleet.StateAuthLost || s == fleet.StateContextHigh
	return r.fromTranscript(), failed && (r.Told.Turn.IsZero() || r.Told.Turn.Since(r.Written.Last) <= writtenLater)
}

// byTranscript: what was written last, unless the screen shows since that it rests. A
// transcript tells of no request, and of a prompt that was taken back before anything was
// answered it tells nothing more.
func (r *reading) byTranscript() (Verdict, bool) {
	if r.Written.State == "" {
		return Verdict{}, false
	}
	if v, ok := r.newerTitle(r.Written); ok {
		return v, true
	}
	wrote, ok := r.Activity.Get()
	rests := ok && time.Duration(wrote) >= atRest && r.Now.Since(r.Written.Last) >= atRest
	if r.Written.State == fleet.StateWorking && r.Written.Tool == nil && rests && fleet.AgentState(r.screen.State) == fleet.StateIdle {
		return Verdict{}, false
	}
	return r.fromTranscript(), true
}

// byFarewell: a CLI may take seconds to end after its session has. What is not at its prompt
// then, and has written nothing since, is at nothing that can be told.
func (r *reading) byFarewell() (Verdict, bool) {
	ended := !r.Told.Ended.IsZero() && r.Written.Last.Since(r.Told.Ended) <= writtenLater
	return Verdict{State: fleet.StateUnknown, Reason: "its hooks say that its session has ended, and its process has not", Source: SourceNone, Since: r.Told.Ended},
		ended && fleet.AgentState(r.screen.State) != fleet.StateIdle
}

func (r *reading) fromTranscript() Verdict {
	return Verdict{State: r.Written.State, Reason: r.Written.Says, Source: SourceTranscript, Since: r.Written.Since}
}

// endSettles is how much later than the registry file a hook may tell of the end of a turn:
// only the hook says whether it failed, and what waits is typed into what is idle.
const endSettles = time.Second

// newerRegistry: the registry file was written after the last hook event.
func (r *reading) newerRegistry() (Verdict, bool) {
	reg, ok := r.Registry.Get()
	if !ok || reg.Updated.IsZero() || !reg.Updated.After(r.Told.Turn.Wall) {
		return Verdict{}, false
	}
	v, ok := r.byRegistry()
	tells := v.State == fleet.StateIdle && r.Told.State == fleet.StateWorking && r.Now.Wall.Sub(reg.Updated) < endSettles
	return v, ok && !tells
}

// hookSettles is how long a title may lag behind a hook.
const hookSettles = 5 * time.Second

// atRest is for how long a window must be silent for an idle title to outweigh
// hooks that say it works: an agent at work draws at least its spinner.
const atRest = 10 * time.Second

// newerTitle: the title contradicts what was told, and the window was written to
// after the last event; or about when it came (activity is told in whole
// seconds), with silence ever since and no tool in flight.
func (r *reading) newerTitle(told Reported) (Verdict, bool) {
	wrote, ok := r.Activity.Get()
	age := r.Now.Since(told.Turn)
	still := time.Duration(wrote) >= atRest && time.Duration(wrote) <= age+time.Second && told.Tool == nil
	if !ok || !r.titled || age < r.lag(told) || age <= time.Duration(wrote)+time.Second && !still {
		return Verdict{}, false
	}
	v, ok := r.byBusyTitle()
	if !ok {
		if v, ok = r.byIdleTitle(); told.State != fleet.StateWorking {
			ok = false // a request leaves the title idle
		}
	}
	return v, ok && v.State != told.State
}

// askSettles is how long a title that can say that the agent waits may lag behind the hook
// that says it.
const askSettles = 2 * time.Second

// lag is how long a title may be older than what was told.
func (r *reading) lag(told Reported) time.Duration {
	says := func(m TitleMark) bool { return fleet.AgentState(m.State) == fleet.StateWaiting }
	if told.State == fleet.StateWaiting && slices.ContainsFunc(r.Kind.Title, says) {
		return askSettles
	}
	return hookSettles
}

// silentStart is for how long an agent that tells nothing may still be starting.
// Later, what it told may have been forgotten.
const silentStart = time.Hour

// bySilentStart: an agent that Custos started tells when it has begun.
func (r *reading) bySilentStart() (Verdict, bool) {
	age, ok := r.Age.Get()
	young := ok && time.Duration(age) < silentStart
	return Verdict{State: fleet.StateStarting, Reason: "it has not reported yet that it began", Source: SourceHook},
		young && r.owesStart() && len(r.signs()) == 0
}

// owesStart: it is to tell that it has begun, and has not.
func (r *reading) owesStart() bool {
	return r.Hooked && !r.deaf() && r.Told.Last.IsZero() && r.Kind.Hooks.TellsStart
}

// deaf: nothing was heard of its hooks, and it is known why.
func (r *reading) deaf() bool { return r.Hooked && r.Deaf != "" && r.Told.Last.IsZero() }

// slowStart is for how long a prompt may stand there before the CLI takes what
// is typed at it, on a machine that is busy.
const slowStart = 2 * time.Minute

// begun does not believe a prompt of which the CLI has not told that it began: what
// is typed at it is lost. That ends with its window still, for hooks can fail.
func (r *reading) begun(v Verdict) Verdict {
	age, ok := r.Age.Get()
	wrote, seen := r.Activity.Get()
	begins := r.isYoung() || seen && time.Duration(wrote) < atRest
	if v.State != fleet.StateIdle || !r.owesStart() || !ok || time.Duration(age) >= slowStart || !begins {
		return v
	}
	return Verdict{State: fleet.StateStarting, Reason: "its prompt is there, and it has not reported yet that it began", Source: SourceHook}
}

// signs are the signals that hint at a state.
func (r *reading) signs() (found []fleet.Signal) {
	for _, s := range r.signals {
		if s.Hint != "" {
			found = append(found, s)
		}
	}
	return found
}

// contextHigh is how much of its context an agent may have used and still be
// given more to do, in percent.
const contextHigh = 80.0

// fullness refines idleness by what the agent told of its context.
func (r *reading) fullness(v Verdict) Verdict {
	used, ok := r.Told.Context.Get()
	if ok && used >= contextHigh && v.State == fleet.StateIdle {
		return Verdict{State: fleet.StateContextHigh, Source: SourceHook, Since: v.Since,
			Reason: fmt.Sprintf("it is idle, and %.0f %% of its context are used", used)}
	}
	return v
}

func (r *reading) fromHook() Verdict {
	return Verdict{State: r.Told.State, Reason: r.Told.Says, Source: SourceHook, Since: r.Told.Since}
}

func (r *reading) since(i fleet.Instant) fleet.Leaf[fleet.Duration] {
	if i.IsZero() || r.Now.IsZero() {
		return fleet.Unknown[fleet.Duration]("not told")
	}
	return fleet.Known(fleet.Duration(max(0, r.Now.Since(i))))
}

// byBanner: registry and title know busy, idle and waiting, and nothing of rate
// limits, logins and full contexts. A banner refines what they say; it does not
// stand against a request that waits, nor, unless marked so, against work.
func (r *reading) byBanner() (Verdict, bool) {
	switch fleet.AgentState(r.screen.State) {
	case fleet.StateRateLimited, fleet.StateAuthLost, fleet.StateContextHigh:
	case fleet.StateWaiting, fleet.StateDialog:
		return r.fromScreen(), r.screen.OverWorking
	default:
		return Verdict{}, false
	}
	if r.screen.LastTurn && r.endedWell() {
		return Verdict{}, false
	}
	reg, _ := r.Registry.Get()
	working := reg.Status == "busy" || reg.Status == "shell" || r.titled && fleet.AgentState(r.title.State) == fleet.StateWorking
	told := r.Told.State == fleet.StateWorking && r.Now.Since(r.Told.Turn) < hookSettles ||
		r.Written.State == fleet.StateWorking && r.Now.Since(r.Written.Last) < hookSettles
	asks := reg.Status == "waiting" || r.Told.State == fleet.StateWaiting
	return r.fromScreen(), !asks && (!working && !told || r.screen.OverWorking)
}

// endedWell: the CLI itself tells, where it would tell of an error, that the last turn ended
// without one. What looks like one on the screen is then what the model, or a tool, has said.
func (r *reading) endedWell() bool {
	well := func(tells bool, t Reported) bool {
		return tells && t.State == fleet.StateIdle && !t.Turned.Ended.IsZero()
	}
	failed := r.Told.Failure != "" || r.Written.Failure != ""
	return !failed && (well(r.Kind.Hooks.tellsFailures(), r.Told) || well(r.Kind.Transcripts.Failures, r.Written))
}

func (r *reading) byRegistry() (Verdict, bool) {
	reg, ok := r.Registry.Get()
	if !ok {
		return Verdict{}, false
	}
	state, says, ok := reg.state()
	return Verdict{State: state, Reason: says, Source: SourceRegistry}, ok
}

// byBusyTitle: a title that says working or waiting was written for the purpose.
func (r *reading) byBusyTitle() (Verdict, bool) {
	return r.fromTitle(), r.titled && fleet.AgentState(r.title.State) != fleet.StateIdle
}

// byDialog: a dialog takes the place of the prompt, and an idle title with it.
func (r *reading) byDialog() (Verdict, bool) {
	s := fleet.AgentState(r.screen.State)
	return r.fromScreen(), s == fleet.StateDialog || s == fleet.StateWaiting
}

// byIdleTitle: an idle mark that other states share needs a prompt on the screen.
func (r *reading) byIdleTitle() (Verdict, bool) {
	if !r.titled || fleet.AgentState(r.title.State) != fleet.StateIdle {
		return Verdict{}, false
	}
	v := r.fromTitle()
	if r.title.Ambiguous {
		v.Reason += ", and its prompt is on the screen"
		return v, fleet.AgentState(r.screen.State) == fleet.StateIdle
	}
	return v, true
}

// byCPU: a mark that the CLI never shows while it works stands against it. What begins uses the processor too, so that in its first seconds that only
// says that it works where its screen shows that it has begun.
func (r *reading) byCPU() (Verdict, bool) {
	cpu, ok := r.CPU.Get()
	return Verdict{State: fleet.StateWorking, Reason: fmt.Sprintf("its processes use %.0f %% of a core", cpu), Source: SourceCPU},
		ok && cpu >= busyCPU && !r.screen.OverCPU && (!r.isYoung() || r.screenTells())
}

func (r *reading) byScreen() (Verdict, bool) { return r.fromScreen(), r.screenTells() }

// screenTells: a prompt that is there while the agent works too tells nothing
// without the title.
func (r *reading) screenTells() bool {
	needsTitle := r.Kind.SilentTitle != "" && fleet.AgentState(r.screen.State) == fleet.StateIdle
	return r.screened && !needsTitle
}

func (r *reading) byActivity() (Verdict, bool) {
	idle, ok := r.Activity.Get()
	return Verdict{State: fleet.StateWorking, Reason: "its window wrote something just now", Source: SourceActivity}, ok && time.Duration(idle) <= justNow
}

// byAge: what begins draws its screen too.
func (r *reading) byAge() (Verdict, bool) {
	return Verdict{State: fleet.StateStarting, Reason: "it began just now", Source: SourceProcess}, r.isYoung()
}

func (r *reading) isYoung() bool { return Youth(r.Age) > 0 }

// Youth is for how long one of an age is young still, so that its age tells that it
// begins; 0 of one that is not, or whose age is not known.
func Youth(age fleet.Leaf[fleet.Duration]) time.Duration {
	is, ok := age.Get()
	if !ok {
		return 0
	}
	return max(0, startupTime-time.Duration(is))
}

func (r *reading) fromTitle() Verdict {
	return Verdict{State: fleet.AgentState(r.title.State), Reason: r.title.Says, Source: SourceTitle}
}

func (r *reading) fromScreen() Verdict {
	return Verdict{State: fleet.AgentState(r.screen.State), Reason: r.screen.Says, Source: SourceScreen}
}

// whyUnknown says what was seen, what was not, and what cannot be.
func (r *reading) whyUnknown() string {
	var parts []string
	for _, s := range r.signals {
		parts = append(parts, s.Says)
	}
	if len(parts) == 0 {
		parts = append(parts, "it runs, and nothing else of it can be seen")
	}
	if r.titled && r.title.Ambiguous {
		parts = append(parts, "which may mean waiting too")
	}
	return strings.Join(parts, "; ")
}
