//go:build conformance

package conformance

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Where scripts/conformance put things.
const (
	dirVar   = "CUSTOS_CONFORMANCE"       // the CLIs, by NAME@VERSION, and work/ for homes
	binVar   = "CUSTOS_CONFORMANCE_BIN"   // our programs
	clisVar  = "CUSTOS_CONFORMANCE_CLIS"  // those to run, as NAME@VERSION
	listVar  = "CUSTOS_CONFORMANCE_LIST"  // not empty: only list them
	kindsVar = "CUSTOS_CONFORMANCE_KINDS" // a custos.toml with [kind.NAME] tables to try
	keepVar  = "CUSTOS_CONFORMANCE_KEEP"  // not empty: the home folders are kept
	writeVar = "CUSTOS_CONFORMANCE_WRITE" // the page whose table of lives is to be written
	labVar   = "CUSTOS_CONFORMANCE_LAB"   // a script to run beside the model
	forVar   = "CUSTOS_CONFORMANCE_FOR"   // how long an evening is, like 1h
)

// TestMain runs nothing before it is sure that nobody but the model server can
// be reached, and that no key is near.
func TestMain(m *testing.M) {
	if os.Getenv(listVar) != "" {
		fmt.Print(list())
		os.Exit(0)
	}
	if err := alone(); err != nil {
		fmt.Fprintf(os.Stderr, "conformance: refused: %v. Run it as `make conformance`\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func alone() error {
	for _, name := range []string{dirVar, binVar} {
		if os.Getenv(name) == "" {
			return errors.New(name + " is not set")
		}
	}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if isKey(name) && value != "" && value != dummyKey {
			return fmt.Errorf("%s is set", name)
		}
	}
	if os.Getppid() != 1 {
		return errors.New("other processes than its own can be seen")
	}
	return loopbackOnly()
}

// dummyKey is the only key that any of them is given.
const dummyKey = "dummy"

// isKey says whether a variable is one that agent CLIs take a key from.
func isKey(name string) bool {
	for _, end := range []string{"_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_ACCESS_KEY", "_SECRET_ACCESS_KEY"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// loopbackOnly refuses a network that has more than a loopback, and brings that
// up.
func loopbackOnly() error {
	all, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("cannot list the network's interfaces: %w", err)
	}
	for _, i := range all {
		addresses, err := i.Addrs()
		if err != nil {
			return fmt.Errorf("cannot list the addresses of %s: %w", i.Name, err)
		}
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 && len(addresses) > 0 {
			return fmt.Errorf("the network has %s (%v), so a real model could be reached", i.Name, addresses[0])
		}
		if i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp == 0 {
			if err := bringUp(i.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func bringUp(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open a socket: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return fmt.Errorf("cannot name %s: %w", name, err)
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("cannot bring %s up: %w", name, err)
	}
	return nil
}

// installed is a path below the folder of the CLIs.
func installed(parts ...string) string {
	return filepath.Join(append([]string{os.Getenv(dirVar)}, parts...)...)
}

// ours is the path of one of our programs.
func ours(name string) string { return filepath.Join(os.Getenv(binVar), name) }

// workDir is a folder of the test's own, with a path that is short enough for
// sockets. It does not lie below /tmp: gemini wants no folder above its hooks
// that others can write to.
func workDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(installed("work"), "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if os.Getenv(keepVar) != "" {
			t.Logf("kept: %s", dir)
			return
		}
		err := os.RemoveAll(dir)
		for deadline := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(deadline); err = os.RemoveAll(dir) {
			<-time.After(100 * time.Millisecond) // what was told to end may write until it has
		}
		if err != nil {
			t.Errorf("cannot clean up: %v", err)
		}
	})
	return dir
}
