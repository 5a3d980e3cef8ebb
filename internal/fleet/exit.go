package fleet

// Exit is how an instance ended, and what is known of who ended it.
type Exit struct {
	Instance string    `json:"instance,omitempty" help:"which instance"`
	Process  ProcessID `json:"process" help:"its process"`
	Status   Leaf[int] `json:"status" help:"its exit status; not known when a signal ended it"`
	Signal   Leaf[int] `json:"signal" help:"the signal that ended it"`
	OOM      bool      `json:"oom,omitempty" help:"whether it was killed for lack of memory"`
	Hangup   bool      `json:"hangup,omitempty" help:"whether its terminal had been closed before it ended: whatever its status, it did not end by itself"`
	ShimGone bool      `json:"shim_gone,omitempty" help:"whether its shim was gone when it ended, and had written down no end: whatever its status, it did not end by itself"`
	Early    bool      `json:"early,omitempty" help:"whether it ended before it had taken what it was started for, or while its recovery was proved: whatever its status, it has not done it"`
	At       Instant   `json:"at" help:"when"`
	Source   string    `json:"source" help:"how the end was seen: shim, proc, pidfd or tmux; reboot when it was not seen; none when nothing shows it"`
	Asked    string    `json:"asked,omitempty" help:"who asked Custos for it; empty when no one did"`
	Quit     string    `json:"quit,omitempty" help:"how a person was seen to end it at its own terminal; empty when none was"`
	Server   string    `json:"server,omitempty" help:"socket of the terminal server that ended with it; empty when none did"`
}

// Besides is what an end came with, behind the words for how it was: ", out of memory".
func (e Exit) Besides() (words string) {
	if e.OOM {
		words += ", out of memory"
	}
	if e.ShimGone {
		words += ", its shim gone"
	}
	if e.Early {
		words += TooEarly
	}
	if e.Server != "" {
		words += ", with terminal server " + e.Server
	}
	if e.Asked != "" {
		words += ", asked by " + e.Asked
	}
	return words
}

// TooEarly is said of an end that came before what the instance was started for was done.
const TooEarly = ", too early to have done what it was started for"

// Ender says who ended an instance, as far as is known.
type Ender string

// The enders. Only evidence of a person makes one: what is not known is never
// taken for a person's will.
const (
	EnderPerson    Ender = "person"    // a word to Custos, or keys at its own terminal
	EnderMachinery Ender = "machinery" // Custos, another agent, its terminal server, the kernel, another process
	EnderUnknown   Ender = "unknown"
)

// ExitReboot is the source of an exit that was not seen: the machine was started
// again since, so it is certain that the instance ended, and not how.
const ExitReboot = "reboot"

// Rebooted says whether the machine's own end was that of the instance.
func (e Exit) Rebooted() bool { return e.Source == ExitReboot }

// Ender says who ended the instance. Who asked Custos comes first: Custos ends
// agents by their own exit command, too.
func (e Exit) Ender() Ender {
	switch {
	case IsPerson(e.Asked):
		return EnderPerson
	case e.Asked != "" || e.Rebooted():
		return EnderMachinery
	case e.Quit != "":
		return EnderPerson
	case e.OOM || e.Server != "" || e.ShimGone:
		return EnderMachinery
	}
	if signal, ok := EndSignal(e.Status, e.Signal); ok && !isTyped(signal) {
		return EnderMachinery
	}
	return EnderUnknown
}

// ByKeys says whether the end is one that keys at a terminal can bring about: an
// end by itself, or a signal that a terminal sends.
func (e Exit) ByKeys() bool {
	if signal, ok := EndSignal(e.Status, e.Signal); ok {
		return isTyped(signal) && !e.OOM
	}
	return e.Status.IsKnown() && e.Status.Or(0) == 0
}

// isTyped says whether a terminal sends the signal: SIGHUP when it is closed,
// SIGINT and SIGQUIT for keys. Any process can send them as well.
func isTyped(signal int) bool { return signal >= 1 && signal <= 3 }

// EndSignal returns the signal that ended a process. A shell, and the CLIs
// themselves, report one as 128 and its number.
func EndSignal(status, signal Leaf[int]) (int, bool) {
	if n, ok := signal.Get(); ok && n > 0 {
		return n, true
	}
	if n, ok := status.Get(); ok && n > 128 && n < 128+65 {
		return n - 128, true
	}
	return 0, false
}

// Failed says whether the agent ended in a way that was not asked for: with its terminal or
// terminal server, too early, by a status that is not 0, a signal, or in a way that
// is not known.
func (e Exit) Failed() bool {
	status, known := e.Status.Get()
	return e.Asked == "" && e.Quit == "" && (e.OOM || e.Hangup || e.ShimGone || e.Early || e.Server != "" || !known || status != 0)
}
