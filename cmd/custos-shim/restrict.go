//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"custos/internal/boundary"
)

// landlockABI is the version of the kernel's Landlock; 0: it has none.
func landlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return min(abi, len(versions)-1)
}

// versions are what each version of Landlock keeps.
var versions = []landlock.Config{{}, landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
	landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11}

const (
	runFile   = ll.AccessFSExecute | ll.AccessFSReadFile
	readTree  = runFile | ll.AccessFSReadDir
	editFile  = runFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeTree = readTree | editFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
)

// devices are those that programs need, besides their terminal.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// restrict takes from this thread, and from what it becomes, all rights but those of the boundary.
func restrict(spec boundary.Spec) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot give up new privileges: %w", err)
	}
	abi := landlockABI()
	config := versions[abi]
	rules, err := rulesOf(spec, &config)
	if err != nil {
		return err
	}
	if err := config.Restrict(rules...); err != nil { // never BestEffort: what is open was judged before
		return fmt.Errorf("cannot restrict the agent: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("cannot give up capabilities: %w", err)
	}
	return filterCalls(spec)
}

// rulesOf are Landlock's rules. Where bwrap keeps the files, Landlock keeps the rest.
func rulesOf(spec boundary.Spec, config *landlock.Config) (rules []landlock.Rule, err error) {
	if spec.By == boundary.Bwrap {
		config.HandledAccessFS &= links
		rules = linkRules(spec, config)
	} else if rules, err = fileRules(spec, config.HandledAccessFS); err != nil {
		return nil, err
	}
	switch {
	case spec.Network == boundary.NetOpen, spec.Network == boundary.NetClosed && spec.By == boundary.Bwrap:
		config.HandledAccessNet = 0
	case spec.Network == boundary.NetPorts: // to listen is no way out
		config.HandledAccessNet &= ll.AccessNetConnectTCP | ll.AccessNetConnectSendUDP
		for _, port := range spec.Ports {
			if config.HandledAccessNet&ll.AccessNetConnectTCP != 0 {
				rules = append(rules, landlock.ConnectTCP(uint16(port)))
			}
			if config.HandledAccessNet&ll.AccessNetConnectSendUDP != 0 {
				rules = append(rules, landlock.ConnectSendUDP(uint16(port)))
			}
		}
	}
	return rules, nil
}

// links are the rights that Landlock keeps where bwrap keeps the files: that to make links, and that to move between
// folders, which it takes from all who are kept from anything, unless it is given.
const links = landlock.AccessFSSet(ll.AccessFSMakeSym | ll.AccessFSRefer)

// linkRules give both rights but for links in trees that are Plain. Versions of Landlock before the second give nobody
// the right to move.
func linkRules(spec boundary.Spec, config *landlock.Config) (rules []landlock.Rule) {
	if config.HandledAccessFS != links {
		config.HandledAccessFS = 0
		return nil
	}
	rules = []landlock.Rule{landlock.PathAccess(ll.AccessFSRefer, "/")}
	for _, path := range append(slices.Clone(spec.Write), "/dev/shm") {
		if info, err := os.Stat(path); err == nil && info.IsDir() && !slices.Contains(spec.Plain, path) {
			rules = append(rules, landlock.PathAccess(links, path))
		}
	}
	return rules
}

func fileRules(spec boundary.Spec, handled landlock.AccessFSSet) (rules []landlock.Rule, err error) {
	add := func(path string, file, tree landlock.AccessFSSet) {
		info, statErr := os.Stat(path)
		switch {
		case errors.Is(statErr, fs.ErrNotExist):
			return
		case statErr != nil:
			err = errors.Join(err, statErr)
			return
		case info.IsDir():
			file = tree
		}
		rules = append(rules, landlock.PathAccess(file&handled, path))
	}
	for _, path := range spec.Read {
		add(path, runFile, readTree)
	}
	for _, path := range spec.Write {
		if slices.Contains(spec.Plain, path) {
			add(path, editFile, writeTree&^ll.AccessFSMakeSym)
			continue
		}
		add(path, editFile, writeTree)
	}
	for _, path := range devices {
		add(path, ll.AccessFSReadFile|ll.AccessFSWriteFile, 0)
	}
	add("/dev", 0, ll.AccessFSReadDir)
	terminal := landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSIoctlDev)
	add("/dev/tty", terminal, 0)
	if own, linkErr := os.Readlink("/proc/self/fd/0"); linkErr == nil && strings.HasPrefix(own, "/dev/pts/") {
		add(own, terminal, 0)
	}
	if handled&ll.AccessFSResolveUnix != 0 {
		for _, path := range spec.Sockets {
			add(path, ll.AccessFSResolveUnix, 0)
		}
	}
	return rules, err
}

// dropCapabilities takes away what an agent of root has beyond the owner of its files: who loads a
// module of the kernel is kept by nothing.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) { // it has none to give, or the kernel knows fewer
			break
		}
		if err != nil {
			return err
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}

// filterCalls keeps what Landlock knows nothing of: limits of other processes, and, where the network is not open,
// sockets but those of this machine and, where ports are asked for, TCP and UDP.
func filterCalls(spec boundary.Spec) error {
	program, err := callFilter(runtime.GOARCH, spec)
	if err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, no := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if no != 0 {
		return fmt.Errorf("cannot restrict the agent: seccomp: %w", no)
	}
	return nil
}
