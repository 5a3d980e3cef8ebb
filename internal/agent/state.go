package agent

import (
	"fmt"
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
	SourceCPU      = "cpu"
	SourceActivity = "activity"
	SourceScreen   = "screen"
	SourceNone     = "none"
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
	OneShot   bool // writes plain text: title and screen mean nothing
	Suspended bool // stopped by a signal (state T)
	Age       fleet.Leaf[fleet.Duration]
	Registry  fleet.Leaf[Registry]
	CPU       fleet.Leaf[float64]        // percent of one core, whole tree
	Activity  fleet.Leaf[fleet.Duration] // since the pane last wrote anything
	Title     fleet.Leaf[string]
	Screen    fleet.Leaf[string]
	End       *End // set when the agent's process is gone
}

// End is what is left of an agent whose process is gone.
type End struct {
	PaneDead bool // the pane is kept, nothing runs in it; else a shell is left
	Status   fleet.Leaf[int]
	Signal   fleet.Leaf[int]
}

// Verdict is what an agent is doing, and why that is believed.
type Verdict struct {
	State   fleet.AgentState
	Reason  string
	Source  string
	Signals []fleet.Signal
}

// State turns signals into one state: the most trusted signal that says
// anything decides. docs/states.md has the order.
func State(s Signals) Verdict {
	if s.End != nil {
		return ended(*s.End)
	}
	r := reading{Signals: s}
	r.read()
	v := r.judge()
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
		if r.screen, r.screened = r.Kind.readScreen(text); r.screened {
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
		r.bySuspension, r.byBanner, r.byRegistry, r.byBusyTitle, r.byDialog, r.byIdleTitle, r.byCPU, r.byScreen, r.byActivity, r.byAge,
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

// byBanner: registry and title know busy, idle and waiting, and nothing of rate
// limits, logins and full contexts. A banner refines what they say; it does not
// stand against a request that waits, nor, unless marked so, against work.
func (r *reading) byBanner() (Verdict, bool) {
	switch fleet.AgentState(r.screen.State) {
	case fleet.StateRateLimited, fleet.StateAuthLost, fleet.StateContextHigh:
	default:
		return Verdict{}, false
	}
	reg, _ := r.Registry.Get()
	working := reg.Status == "busy" || reg.Status == "shell" || r.titled && fleet.AgentState(r.title.State) == fleet.StateWorking
	return r.fromScreen(), reg.Status != "waiting" && (!working || r.screen.OverWorking)
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

func (r *reading) byCPU() (Verdict, bool) {
	cpu, ok := r.CPU.Get()
	return Verdict{State: fleet.StateWorking, Reason: fmt.Sprintf("its processes use %.0f %% of a core", cpu), Source: SourceCPU}, ok && cpu >= busyCPU
}

// byScreen: a prompt that is there while the agent works too tells nothing
// without the title.
func (r *reading) byScreen() (Verdict, bool) {
	needsTitle := r.Kind.SilentTitle != "" && fleet.AgentState(r.screen.State) == fleet.StateIdle
	return r.fromScreen(), r.screened && !needsTitle
}

func (r *reading) byActivity() (Verdict, bool) {
	idle, ok := r.Activity.Get()
	return Verdict{State: fleet.StateWorking, Reason: "its window wrote something just now", Source: SourceActivity}, ok && time.Duration(idle) <= justNow
}

func (r *reading) byAge() (Verdict, bool) {
	age, ok := r.Age.Get()
	return Verdict{State: fleet.StateStarting, Reason: "it began just now", Source: SourceProcess}, ok && time.Duration(age) < startupTime
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

// ended judges what is left of an agent that is gone.
func ended(e End) Verdict {
	status, hasStatus := e.Status.Get()
	signal, hasSignal := e.Signal.Get()
	if !hasSignal && hasStatus && status > 128 && status < 128+65 {
		signal, hasSignal = status-128, true // how shells and the CLIs themselves report it
	}
	v := Verdict{Source: SourceTmux}
	switch {
	case !e.PaneDead:
		v = Verdict{State: fleet.StateZombie, Reason: "its process is gone and only a shell is left in its pane", Source: SourceProcess}
	case hasSignal && (signal == 1 || signal == 2 || signal == 15):
		v.State, v.Reason = fleet.StateStopped, fmt.Sprintf("ended by signal %d: it was asked to, or its terminal was closed", signal)
	case hasSignal:
		v.State, v.Reason = fleet.StateCrashed, fmt.Sprintf("ended by signal %d", signal)
	case hasStatus && status == 0:
		v.State, v.Reason = fleet.StateFinished, "ended with exit status 0"
	case hasStatus:
		v.State, v.Reason = fleet.StateCrashed, fmt.Sprintf("ended with exit status %d", status)
	default:
		v.State, v.Reason = fleet.StateUnknown, "it has ended, and tmux does not tell how"
	}
	v.Signals = []fleet.Signal{{Source: v.Source, Says: v.Reason, Hint: v.State, Age: fleet.Unknown[fleet.Duration]("not told")}}
	return v
}
