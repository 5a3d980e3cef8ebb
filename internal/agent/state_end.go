package agent

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// End is what is left of an agent whose process is gone.
type End struct {
	PaneDead bool // the pane is kept, nothing runs in it
	Shell    bool // a shell is left in the pane
	Status   fleet.Leaf[int]
	Signal   fleet.Leaf[int]
	Exit     *fleet.Exit   // how it ended, where a shim, a pidfd or a record tells
	Wanted   fleet.Desired // of a registered agent; empty for others
	Told     Reported      // what one without a terminal told before; zero for nothing
}

// ExitReboot is the source of an exit that nothing saw: the machine was
// started again since.
const ExitReboot = "reboot"

// ended judges what is left of an agent that is gone.
func ended(e End) Verdict {
	v := e.judge()
	v.Signals = []fleet.Signal{{Source: v.Source, Says: v.Reason, Hint: v.State, Age: fleet.Unknown[fleet.Duration]("not told")}}
	return v
}

func (e End) judge() Verdict {
	source, status, signal := SourceTmux, e.Status, e.Signal
	if x := e.Exit; x != nil {
		source, status, signal = x.Source, x.Status, x.Signal
	} else if !e.PaneDead {
		return e.leftover()
	}
	v := e.refused(e.exitVerdict(status, signal), status, signal)
	v.Source = source
	if e.Exit == nil {
		if v.State == fleet.StateUnknown {
			v.Reason = "it has ended, and tmux does not say how"
		}
		return v
	}
	v.Since = e.Exit.At
	switch x := e.Exit; {
	case x.Source == ExitReboot:
		v.Reason = "the machine was started again since, so it has ended, and it is not known how"
	case x.Asked != "":
		v.State, v.Reason = fleet.StateStopped, fleet.Line(x.Asked, 60)+" asked it to end: "+strings.TrimSuffix(v.Reason, unknownSender)
	case e.Wanted != "" && e.Wanted != fleet.DesiredRunning:
		v.State, v.Reason = fleet.StateStopped, "it was to be "+string(e.Wanted)+": "+v.Reason
	case x.Quit != "":
		v.State, v.Reason = fleet.StateStopped, "a person ended it ("+fleet.Line(x.Quit, 80)+"): "+v.Reason
	case x.OOM:
		v.State, v.Reason = fleet.StateCrashed, "killed for want of memory: "+v.Reason
	case x.Server != "":
		v.State, v.Reason = fleet.StateCrashed, "its terminal server "+fleet.Line(x.Server, 80)+" went: "+v.Reason
	case x.ShimGone:
		v.State, v.Reason = fleet.StateCrashed, "its shim was killed, or ended without a word: "+v.Reason
	case x.Early && v.State == fleet.StateFinished:
		v.State, v.Reason = fleet.StateCrashed, v.Reason+fleet.TooEarly
	case v.State == fleet.StateUnknown && e.Wanted != "":
		v.State = fleet.StateCrashed // that it ended is certain, and that it was to run
	case x.Hangup && v.State == fleet.StateFinished:
		v.State, v.Reason = fleet.StateCrashed, v.Reason+", after its terminal was closed, and it is not known who closed it"
		if e.Wanted == "" {
			v.State = fleet.StateStopped
		}
	}
	return v
}

// refused says of an agent whose model was refused to it, and that ended by itself then,
// that it is held up, and not that it crashed or is done: whoever is started in its place is
// refused as well.
func (e End) refused(v Verdict, exit, sig fleet.Leaf[int]) Verdict {
	_, exited := exit.Get()
	_, killed := fleet.EndSignal(exit, sig)
	if told := e.Told.State; exited && !killed && (told == fleet.StateRateLimited || told == fleet.StateAuthLost) {
		v.State, v.Reason = told, v.Reason+"; "+e.Told.Says
	}
	return v
}

// leftover judges what ended without telling how.
func (e End) leftover() Verdict {
	if e.Shell {
		return Verdict{State: fleet.StateZombie, Reason: "its process is gone and only a shell is left in its pane", Source: SourceProcess}
	}
	return Verdict{State: fleet.StateUnknown, Reason: "its process is gone, and it is not known how it ended", Source: SourceProcess}
}

// unknownSender is said of a signal, unless it is known who asked for the end.
const unknownSender = ", and it is not known who sent it"

// exitVerdict reads an exit. An agent that was to run has crashed when a signal
// ended it, whatever signal: anything can send any of them. Custos does not know what
// is wanted of one that is not registered: a signal by which people close terminals
// and end programs may be what they wanted.
func (e End) exitVerdict(exit, sig fleet.Leaf[int]) (v Verdict) {
	status, hasStatus := exit.Get()
	signal, hasSignal := fleet.EndSignal(exit, sig)
	switch {
	case hasSignal && (signal == 1 || signal == 2 || signal == 15):
		v.State, v.Reason = fleet.StateCrashed, fmt.Sprintf("ended by signal %d", signal)+unknownSender
		if e.Wanted == "" {
			v.State = fleet.StateStopped
		}
	case hasSignal:
		v.State, v.Reason = fleet.StateCrashed, fmt.Sprintf("ended by signal %d", signal)
	case hasStatus && status == 0:
		v.State, v.Reason = fleet.StateFinished, "ended with exit status 0"
	case hasStatus:
		v.State, v.Reason = fleet.StateCrashed, fmt.Sprintf("ended with exit status %d", status)
	default:
		v.State, v.Reason = fleet.StateUnknown, "it has ended, and it is not known how"
	}
	return v
}
