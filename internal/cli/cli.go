package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/policy"
	"custos/internal/remote"
	"custos/internal/service"
	"custos/internal/uninstall"
)

// The exit codes.
const (
	exitWell   = 0
	exitAlerts = 1 // it worked, and not all is well: exitTable says of what
	exitUse    = 2 // bad use or input
	exitLook   = 3 // could not look
	exitQueued = 4 // an order was taken, and is not carried out yet
)

// Daemon is what the command line needs of package daemon.
type Daemon struct {
	// Client says that this machine is not watched: only others are asked. Then nothing is
	// needed but what clientDaemon gives.
	Client bool
	// Local returns the handlers that serve when no daemon runs, and how to close them.
	Local func(ctx context.Context, c config.Config) (http.Handler, func() error, error)
	// Up runs the daemon until ctx ends or it is ordered to go down.
	Up     func(ctx context.Context, c config.Config, asJSON bool) error
	Socket func(c config.Config) string
	// Runs says whether there is a daemon, also one that does not answer yet or has not quite gone.
	Runs func(c config.Config) bool
	// Untold is why it is not known whether there is one; "" when it is. nil: it always is.
	Untold func(c config.Config) string
	// Verify says whether a connection to the socket leads to who holds the lock; nil: it is not asked.
	Verify func(c config.Config, conn net.Conn) error
	// Holder is the process of the daemon there is, though it may not answer; 0 when it is not known.
	Holder func(c config.Config) int
	// End ends a daemon that does not answer, and says how.
	End func(ctx context.Context, c config.Config) (how string, err error)
	// Stop ends an agent of ours without daemon and ledger, and says how.
	Stop func(ctx context.Context, c config.Config, agent, by, why string) (how string, err error)
	// StoppedBy says who has stopped an agent that does not run and stays stopped; "" for
	// no one, and where it is not known.
	StoppedBy func(c config.Config, agent string) string

	// Simulate plays the stories of a file.
	Simulate func(ctx context.Context, c config.Config, name string, text []byte) (api.Simulation, error)

	// Policies are the policies there are, and the name of that of a role; "" for none.
	Policies func(c config.Config, role string) (all map[string]policy.Policy, of string, err error)
	// PolicyPlaces are what lies where for an agent that stands in a folder.
	PolicyPlaces func(c config.Config, home, dir string) policy.Places

	// Person refuses, to agents, what takes a person.
	Person func(c config.Config, what string) error
	Freeze func(c config.Config, by, why string) error
	Thaw   func(c config.Config) (was string, err error)
	// Frozen says who has frozen Custos, and why; "" when it is not frozen.
	Frozen func(c config.Config) string
	// Alive lists the agents of ours that run; RunsOn what other users run of them; Going what
	// Uninstall would remove.
	Alive     func(c config.Config) ([]uninstall.Living, error)
	RunsOn    func(c config.Config) ([]string, error)
	Going     func(c config.Config, leave bool) (uninstall.Removal, error)
	Uninstall func(c config.Config, leave bool) (uninstall.Removal, error)
}

// Env is the world a command runs in.
type Env struct {
	Args     []string // without the program's name
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Getenv   func(string) string
	Version  string
	Terminal bool // Stdout is one
	Progress bool // Stderr is a terminal
	Width    int  // columns to write at most
	ErrWidth int  // columns of Stderr; 0 where it is no terminal: its lines stay whole
	Daemon   Daemon
	// Exec becomes another program; nil where that is not to be, when its command
	// line is printed instead.
	Exec func(argv []string) error
	// Service is where a service is installed: this machine.
	Service service.Machine
}

// widest is how far lines go where there is no terminal to measure.
const widest = 100

// Main runs the command line of this process and returns its exit code.
func Main(version string) int {
	if code, is := buries(); is {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	e := Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Version:  versionOf(version),
		Terminal: term.IsTerminal(int(os.Stdout.Fd())),
		Progress: term.IsTerminal(int(os.Stderr.Fd())),
		Width:    widest,
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w >= 60 {
		e.Width = w
	}
	if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
		e.ErrWidth = w
	}
	if e.Terminal && term.IsTerminal(int(os.Stdin.Fd())) {
		e.Exec = become
	}
	e.Daemon = realDaemon(e)
	return Run(ctx, e)
}

// app is one run of the command line.
type app struct {
	Env
	json   bool
	file   string       // --config
	onHost string       // --host
	host   *remote.Host // that is spoken of; nil: this machine
	noHost string       // what a name begins with that no host is called
	failOn string       // --fail-on
	conf   *config.Config
	at     *progress
	brakes bool   // the command goes on with what is left of a broken configuration
	mute   string // why the daemon there is was not asked; "" when it was, or there is none
	// interrupted is closed by the first signal; nil never is.
	interrupted <-chan struct{}
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, e Env) int {
	a := &app{Env: e, interrupted: ctx.Done()}
	root := a.root()
	root.SetArgs(e.Args)
	err := root.ExecuteContext(ctx)
	a.json = a.json || asksJSON(e.Args) // a slip before --json kept it from being read
	return a.code(err)
}

// Commands is the command line as man pages and completions are made of it; it runs nothing.
func Commands() *cobra.Command { return (&app{Env: Env{Getenv: os.Getenv}}).root() }

func (a *app) root() *cobra.Command {
	root := a.lookCommand()
	root.AddCommand(a.cleanCommand(), a.worktreeCommand(), a.runbookCommand(),
		a.patrolCommand(), a.preflightCommand(), a.planCommand(), a.simulateCommand(), a.recordCommand(),
		a.rulesCommand(), a.alertsCommand(), a.ackCommand(), a.approveCommand(), a.denyCommand(), a.silenceCommand(), a.tellCommand(), a.whyCommand(), a.explainCommand(), a.kindsCommand(),
		a.spawnCommand(), a.heartbeatCommand(), a.handoffCommand(), a.mcpCommand(), a.psCommand(), a.topCommand(), a.showCommand(), a.peekCommand(), a.logsCommand(), a.attachCommand(), a.waitCommand(),
		a.nudgeCommand(), a.answerCommand(), a.interruptCommand(), a.stopCommand(), a.recoverCommand(), a.checkpointCommand(),
		a.adoptCommand(), a.ordersCommand(), a.pauseCommand(), a.resumeCommand(), a.hooksCommand(),
		a.feedCommand(), a.traceCommand(), a.errorsCommand(), a.replayCommand(), a.failuresCommand(),
		a.workCommand(), a.convoyCommand(), a.groupCommand(), a.agentCommand(), a.gateCommand(), a.triggerCommand(), a.mergeCommand(), a.roleCommand(), a.slingCommand(), a.teamCommand(), a.reviewCommand(),
		a.mailCommand(),
		a.formulaCommand(), a.scheduleCommand(), a.pluginCommand(), a.trustCommand(), a.costCommand(), a.budgetCommand(), a.policyCommand(), a.grantCommand(),
		a.journalCommand(), a.reportCommand(), a.statusCommand(), a.healthCommand(), a.freezeCommand(), a.thawCommand(),
		a.configCommand(), a.doctorCommand(), a.initCommand(), a.setupCommand(), a.schemaCommand(), a.versionCommand(),
		a.upCommand(), a.engineProxyCommand(), a.bridgeCommand(), a.downCommand(), a.webCommand(), a.serviceCommand(), a.upgradeCommand(), a.uninstallCommand())
	root.AddCommand(a.hubCommands()...)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON instead of words")
	root.PersistentFlags().StringVar(&a.file, "config", "", "configuration `FILE` (default ~/.config/custos/custos.toml)")
	a.mayGoElsewhere(root)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	a.setHelp(root)
	root.SetFlagErrorFunc(wrongFlag)
	sayUsage(root)
	a.completes(root)
	return root
}

// alarm ends a command with code 1: it worked, and there are alerts.
var errAlarm = errors.New("alerts at or above --fail-on")

// errFailed ends a patrol that a person asked to act with code 1.
var errFailed = errors.New("an action failed")

// code says an error to the person and returns the exit code.
func (a *app) code(err error) int {
	switch {
	case err == nil:
		return exitWell
	case errors.Is(err, errAlarm), errors.Is(err, errFailed), errors.Is(err, errUnwell), errors.Is(err, errUnheard), errors.Is(err, errMissed):
		return exitAlerts
	case errors.Is(err, errUnanswered), errors.Is(err, errUnseen):
		return exitLook
	case errors.Is(err, syscall.EPIPE):
		return exitWell // the reader has seen enough
	}
	if errors.Is(err, errQueued) {
		return exitQueued
	}
	var nothing *ended
	if errors.As(err, &nothing) {
		a.complain(a.orHost(nothing.message), nothing.hint)
		return exitUse
	}
	var lost *unkept
	if errors.As(err, &lost) {
		a.complain(lost.Error(), "custos preflight")
		return exitLook
	}
	code, e := classify(err)
	if a.json {
		a.print(e)
	}
	a.complain(a.orHost(e.Message), e.Hint)
	return code
}

// orHost says of a name that no agent has, and that begins as that of another machine would,
// that there is no such machine either.
func (a *app) orHost(message string) string {
	if a.noHost != "" && strings.Contains(message, "there is no agent") {
		return fmt.Sprintf("%s; nor is there a host %s: custos.toml has no section [%s.%s]", message, flat(a.noHost), remote.Section, flat(a.noHost))
	}
	return message
}

// wayOut is what may be typed after an error. That a machine was not reached is said by this
// one, and the command for it is that of ssh.
func (a *app) wayOut(hint string) string {
	if hint == "" || a.host != nil && a.host.IsWay(hint) {
		return hint
	}
	return withFlags(a.flags(), typable(a.host != nil, hint))
}

// complain says what went wrong. A command to type stays whole: it is to be copied.
func (a *app) complain(message, hint string) {
	a.at.beside(func() {
		fmt.Fprintln(a.Stderr, fold("custos: "+clean(message), a.ErrWidth))
		if hint != "" {
			fmt.Fprintln(a.Stderr, "try: "+a.wayOut(clean(hint)))
		}
	})
}

// classify finds the exit code of an error and its form for machines.
func classify(err error) (int, *api.Error) {
	var mistake *config.Mistake
	e := api.Found(err)
	switch {
	case e != nil:
		if e.Kind == api.BadInput || e.Kind == api.NotFound || e.Kind == api.Forbidden || e.Kind == api.Changed {
			return exitUse, e
		}
		return exitLook, e
	case errors.As(err, &mistake) && !errors.Is(err, context.Canceled):
		return exitUse, &api.Error{Kind: api.BadInput, Message: err.Error()}
	case errors.Is(err, context.Canceled):
		return exitLook, &api.Error{Kind: api.CannotLook, Message: "cannot finish: interrupted"}
	case errors.Is(err, context.DeadlineExceeded):
		return exitLook, &api.Error{Kind: api.CannotLook, Message: "cannot finish: no answer in time", Hint: "custos status"}
	}
	return exitUse, &api.Error{Kind: api.BadInput, Message: err.Error()}
}

// config reads the configuration, once.
func (a *app) config() (config.Config, error) {
	if a.conf != nil {
		return *a.conf, nil
	}
	o := a.options()
	c, err := config.Load(o)
	if a.brakes && isMistake(err) {
		c, err = a.salvage(o, err)
	}
	if err != nil {
		return c, err
	}
	a.conf = &c
	return c, nil
}

// options say where the configuration is, and how it is read.
func (a *app) options() config.Options {
	read := func(file string) ([]byte, error) {
		return a.unlessInterrupted(func() ([]byte, error) { return config.ReadFile(file, config.LargestFile) })
	}
	return config.Options{File: a.file, Getenv: a.Getenv, ReadFile: read, Sections: sections()}
}

func usage(format string, args ...any) error {
	return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf(format, args...)}
}
