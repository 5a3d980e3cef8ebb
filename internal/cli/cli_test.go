package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"custos/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"custos":   func() { os.Exit(run(100, false)) },
		"colour":   func() { os.Exit(run(100, true)) }, // custos on a terminal
		"isjson":   isJSON,
		"mcpask":   func() { os.Exit(askByTools()) },
		"mcplines": func() { os.Exit(sayLines()) },
	})
}

func run(width int, terminal bool) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Version: "1.2.3", Width: width, Terminal: terminal, Daemon: fake(os.Getenv),
	})
}

// isJSON ends well when its standard input is one JSON value.
func isJSON() {
	var v any
	d := json.NewDecoder(os.Stdin)
	if err := d.Decode(&v); err != nil || d.More() {
		os.Stderr.WriteString("that is no JSON\n")
		os.Exit(1)
	}
}

// Each script has a HOME of its own; no daemon of this machine is touched.
func TestScripts(t *testing.T) {
	busy, err := os.ReadFile("../server/testdata/views/busy.txtar")
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := os.ReadFile("../server/testdata/views/fleet.txtar")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireUniqueNames:  true,
		RequireExplicitExec: false,
		Setup: func(e *testscript.Env) error {
			home, err := os.MkdirTemp("", "custos-cli") // short: a socket lies below it
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(home) })
			for name, text := range map[string][]byte{"/pass.txtar": busy, "/fleet.txtar": fleet} {
				if err := os.WriteFile(home+name, text, 0o600); err != nil {
					return err
				}
			}
			for k, v := range map[string]string{"HOME": home, "PASS": home + "/pass.txtar", "USER": "me", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "NO_COLOR": "", "TERM": "xterm",
				"GORACE": "atexit_sleep_ms=0"} {
				e.Setenv(k, v)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "until": until},
	})
}
