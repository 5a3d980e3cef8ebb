package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"custos/internal/cli"
	"custos/internal/config"
)

// reader blocks for ever, and tells when it is read.
type reader struct{ read chan struct{} }

func (r reader) Read([]byte) (int, error) {
	close(r.read)
	select {}
}

// A signal ends a command that waits for its input: nothing is to need KILL.
func TestInterruptedReading(t *testing.T) {
	for _, args := range [][]string{{"plan", "--recording", "-"}, {"explain", "--screen", "-"}, {"nudge", "a", "-"}} {
		t.Run(args[0], func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in := reader{make(chan struct{})}
			go func() {
				<-in.read
				cancel()
			}()
			var out bytes.Buffer
			code := runWith(ctx, t, in, &out, fake, nil, args...)
			if code != 3 || !strings.Contains(out.String(), "interrupted") {
				t.Errorf("ended with %d: %s", code, out.String())
			}
		})
	}
}

// A patrol that was not waited for says what is known of it.
func TestInterruptedPatrol(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	during := func(getenv func(string) string) cli.Daemon { // the signal comes when it patrols
		d := fake(getenv)
		local := d.Local
		d.Local = func(c context.Context, conf config.Config) (http.Handler, func() error, error) {
			h, closer, err := local(c, conf)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				cancel()
				h.ServeHTTP(w, r)
			}), closer, err
		}
		return d
	}
	var out bytes.Buffer
	code := runWith(ctx, t, strings.NewReader(""), &out, during, map[string]string{"HANGS": "1"}, "patrol", "--config", "c.toml", "--apply")
	for _, want := range []string{"interrupted: what was begun goes on or is taken up by the next patrol", "custos --config c.toml journal; custos --config c.toml feed"} {
		if code != 3 || !strings.Contains(out.String(), want) {
			t.Errorf("ended with %d, without %q: %s", code, want, out.String())
		}
	}
}

func runWith(ctx context.Context, t *testing.T, in io.Reader, out io.Writer, daemon func(func(string) string) cli.Daemon, vars map[string]string, args ...string) int {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("c.toml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return runIn(ctx, dir, in, out, daemon, vars, args...)
}

// runIn runs a command whose home is dir.
func runIn(ctx context.Context, dir string, in io.Reader, out io.Writer, daemon func(func(string) string) cli.Daemon, vars map[string]string, args ...string) int {
	getenv := func(k string) string {
		if k == "HOME" {
			return dir
		}
		return vars[k]
	}
	return cli.Run(ctx, cli.Env{Args: args, Stdin: in, Stdout: out, Stderr: out, Getenv: getenv, Width: 100, Daemon: daemon(getenv)})
}
