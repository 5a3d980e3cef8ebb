//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
)

// options is the command line: custos-shim [flags] -- argv…
type options struct {
	dir       string
	key       string // of the instance
	name      string // of the agent
	headless  bool
	input     bool
	logMax    int64  // bytes kept of each stream
	memoryMax int64  // bytes; 0: no cap asked for
	processes int64  // how many there may be; 0: no cap asked for. Only a boundary asks for it
	cgroup    string // a delegated cgroup v2 folder, to put the agent's own below
	from      string // file that holds argv, environment and folder
	boundary  string // file that says what the agent is kept within; empty: nothing
	argv      []string
}

// parseOptions reads the command line. Relative paths are taken from the
// current folder, which the shim leaves afterwards.
func parseOptions(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("custos-shim", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.dir, "dir", "", "folder of this instance; it must exist")
	f.StringVar(&o.key, "key", "", "the instance: letters, digits, '.', '_' and '-'")
	f.StringVar(&o.name, "name", "", "the agent's name; default is the key")
	f.BoolVar(&o.headless, "headless", false, "no terminal: output goes to capped logs")
	f.BoolVar(&o.input, "input", false, "headless: read stdin from the FIFO DIR/stdin")
	f.Int64Var(&o.logMax, "log-max", 10<<20, "bytes kept of each log")
	f.Int64Var(&o.memoryMax, "memory-max", 0, "bytes of memory the agent's tree may use")
	f.StringVar(&o.cgroup, "cgroup", "", "delegated cgroup v2 folder")
	f.StringVar(&o.from, "from", "", "file with argv, environment and folder; removed once read")
	f.StringVar(&o.boundary, "boundary", "", "file with the boundary that the agent is kept within")
	if err := f.Parse(args); err != nil {
		return o, fmt.Errorf("cannot read the command line: %w", err)
	}
	o.argv = f.Args()
	if o.name == "" {
		o.name = o.key
	}
	return o.absolute()
}

func (o options) absolute() (options, error) {
	switch {
	case o.dir == "":
		return o, errors.New("cannot start: --dir is missing")
	case !isKey(o.key):
		return o, fmt.Errorf("cannot start: key %q is not 1 to 128 letters, digits, '.', '_' or '-'", o.key)
	case o.logMax < 8192:
		return o, fmt.Errorf("cannot start: --log-max %d is less than 8192 bytes", o.logMax)
	case o.memoryMax < 0:
		return o, fmt.Errorf("cannot start: --memory-max %d is negative", o.memoryMax)
	case (o.from == "") == (len(o.argv) == 0):
		return o, errors.New("cannot start: want either --from FILE or a command line after --")
	}
	for _, p := range []*string{&o.dir, &o.cgroup, &o.from, &o.boundary} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return o, fmt.Errorf("cannot start: %w", err)
		}
		*p = abs
	}
	return o, nil
}

func isKey(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return s != "" && len(s) <= 128 && s[0] != '.'
}
