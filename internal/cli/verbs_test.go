package cli_test

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// code N COMMAND… runs a command that must end with exit code N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("usage: code N COMMAND…")
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("cannot run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("%s ended with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// until COMMAND… runs a command again and again until it ends well, for at most
// a minute: the real world must catch up.
func until(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(time.Minute)
	for {
		err := ts.Exec(args[0], args[1:]...)
		if (err == nil) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: still %v after a minute", strings.Join(args, " "), err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
