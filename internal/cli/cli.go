package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
)

// The exit codes.
const (
	exitWell   = 0
	exitAlerts = 1 // alerts at or above --fail-on, an action of a patrol failed, or health found passes late
	exitUse    = 2 // bad use or input
	exitLook   = 3 // could not look
)

// Daemon is what the command line needs of package daemon.
type Daemon struct {
	// Local returns the handlers that serve when no daemon runs, and how to close them.
	Local func(ctx context.Context, c config.Config) (http.Handler, func() error, error)
	// Up runs the daemon until ctx ends or it is told to go down.
	Up     func(ctx context.Context, c config.Config, asJSON bool) error
	Socket func(c config.Config) string
	// Runs says whether there is a daemon, also one that does not answer yet or has not quite gone.
	Runs      func(c config.Config) bool
	Freeze    func(c config.Config, by, why string) error
	Thaw      func(c config.Config) (was string, err error)
	Uninstall func(c config.Config) ([]string, error)
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
	Daemon   Daemon
	// Exec becomes another program; nil where that is not to be, when its command
	// line is printed instead.
	Exec func(argv []string) error
}

// widest is how far lines go where there is no terminal to measure.
const widest = 100

// Main runs the command line of this process and returns its exit code.
func Main(version string) int {
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
	file   string // --config
	failOn string // --fail-on
	conf   *config.Config
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

func (a *app) root() *cobra.Command {
	root := a.lookCommand()
	root.AddCommand(
		a.patrolCommand(), a.preflightCommand(), a.planCommand(), a.recordCommand(),
		a.rulesCommand(), a.alertsCommand(), a.ackCommand(), a.approveCommand(), a.silenceCommand(), a.tellCommand(), a.whyCommand(), a.explainCommand(),
		a.spawnCommand(), a.heartbeatCommand(), a.handoffCommand(), a.psCommand(), a.showCommand(), a.peekCommand(), a.attachCommand(), a.waitCommand(),
		a.nudgeCommand(), a.answerCommand(), a.interruptCommand(), a.stopCommand(), a.recoverCommand(), a.checkpointCommand(),
		a.adoptCommand(), a.pauseCommand(), a.resumeCommand(), a.hooksCommand(),
		a.feedCommand(), a.traceCommand(), a.errorsCommand(), a.replayCommand(), a.failuresCommand(),
		a.workCommand(), a.convoyCommand(), a.gateCommand(), a.triggerCommand(),
		a.mailCommand(),
		a.formulaCommand(), a.scheduleCommand(), a.pluginCommand(), a.costCommand(),
		a.journalCommand(), a.reportCommand(), a.statusCommand(), a.healthCommand(), a.freezeCommand(), a.thawCommand(),
		a.configCommand(), a.doctorCommand(), a.initCommand(), a.schemaCommand(), a.versionCommand(),
		a.upCommand(), a.downCommand(), a.uninstallCommand())
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON instead of words")
	root.PersistentFlags().StringVar(&a.file, "config", "", "configuration `FILE` (default ~/.config/custos/custos.toml)")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	a.setHelp(root)
	sayUsage(root)
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
	case errors.Is(err, errAlarm), errors.Is(err, errFailed), errors.Is(err, errUnwell):
		return exitAlerts
	case errors.Is(err, errUnanswered):
		return exitLook
	case errors.Is(err, syscall.EPIPE):
		return exitWell // the reader has seen enough
	}
	var nothing *ended
	if errors.As(err, &nothing) {
		a.complain(nothing.message, nothing.hint)
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
	a.complain(e.Message, e.Hint)
	return code
}

func (a *app) complain(message, hint string) {
	fmt.Fprintln(a.Stderr, "custos: "+clean(message))
	if hint != "" {
		fmt.Fprintln(a.Stderr, "try: "+withConfig(a.file, clean(hint)))
	}
}

// classify finds the exit code of an error and its form for machines.
func classify(err error) (int, *api.Error) {
	var e *api.Error
	var mistake *config.Mistake
	switch {
	case errors.As(err, &e):
		if e.Kind == api.BadInput || e.Kind == api.NotFound || e.Kind == api.Forbidden {
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
	hint := ""
	if strings.HasPrefix(err.Error(), "unknown ") {
		hint = "custos help all"
	}
	return exitUse, &api.Error{Kind: api.BadInput, Message: err.Error(), Hint: hint}
}

// config reads the configuration, once.
func (a *app) config() (config.Config, error) {
	if a.conf != nil {
		return *a.conf, nil
	}
	read := func(file string) ([]byte, error) {
		return a.unlessInterrupted(func() ([]byte, error) { return config.ReadFile(file, config.LargestFile) })
	}
	c, err := config.Load(config.Options{File: a.file, Getenv: a.Getenv, ReadFile: read, Sections: daemon.Sections()})
	if err != nil {
		return c, err
	}
	a.conf = &c
	return c, nil
}

func usage(format string, args ...any) error {
	return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf(format, args...)}
}
