// Command custos-release makes the files of a release out of a commit, and is in none
// of them. It needs Go and git; what else it calls it has Go build, at a version that
// stands in tools.go.
//
//	custos-release build --version v0.1.0 [--out dist] [--arch amd64,arm64,darwin/arm64] [--key FILE [--password-file FILE]]
//	custos-release verify --key FILE.pub DIR
//	custos-release pages DIR
//	custos-release notice
//
// build takes the commit that is checked out, never what lies around it. The same
// commit, version and Go make the same bytes, signatures left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "custos-release:", err)
		var misused usage
		if errors.As(err, &misused) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// usage is bad input: nothing was begun.
type usage string

func (u usage) Error() string { return string(u) }

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return usage("cannot tell what to do: want build, verify, pages or notice")
	}
	switch args[0] {
	case "build":
		return build(ctx, args[1:], out)
	case "verify":
		return verify(args[1:], out)
	case "pages":
		return writePages(args[1:])
	case "notice":
		return printNotice(ctx, out)
	}
	return usage(fmt.Sprintf("cannot %s: want build, verify, pages or notice", args[0]))
}

func build(ctx context.Context, args []string, out io.Writer) error {
	o, err := readOptions(args)
	if err != nil {
		return err
	}
	made, err := o.make(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", strings.Join(made, "\n"))
	return nil
}

func readOptions(args []string) (options, error) {
	var o options
	var tag, arches string
	f := newFlags("build")
	f.StringVar(&tag, "version", "", "the version, as its tag: v0.1.0")
	f.StringVar(&o.out, "out", "dist", "folder to write to")
	f.StringVar(&arches, "arch", strings.Join(machines(), ","), "Go's names of the machines to build for")
	f.StringVar(&o.key, "key", "", "file with minisign's secret key; without it nothing is signed")
	f.StringVar(&o.password, "password-file", "", "file with the password of the key")
	err := parse(f, args, 0)
	if err != nil {
		return o, err
	}
	o.arches = strings.Split(arches, ",")
	if o.version, err = ofTag(tag); err != nil {
		return o, err
	}
	return o, o.absolute()
}

func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parse reads the flags, and wants so many words after them.
func parse(f *flag.FlagSet, args []string, words int) error {
	if err := f.Parse(args); err != nil {
		return usage(fmt.Sprintf("cannot %s: %v", f.Name(), err))
	}
	if f.NArg() != words {
		return usage(fmt.Sprintf("cannot %s: want %d words after the flags, not %d", f.Name(), words, f.NArg()))
	}
	return nil
}
