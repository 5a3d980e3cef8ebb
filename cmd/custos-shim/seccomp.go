//go:build linux

package main

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"custos/internal/boundary"
)

// Where the words of struct seccomp_data lie.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16 // 8 bytes each, the low half first on the machines that Custos runs on
)

const (
	allowed = unix.SECCOMP_RET_ALLOW
	denied  = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	x32     = 0x40000000 // the bit of system calls of x32, which x86-64 takes beside its own
)

var arches = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// callFilter is the program that judges each system call. The limits of another process are not changed: that kills it.
// Where the network is not open, socket(2) of families that are kept is denied, io_uring, which makes sockets, too, is not
// there, and nothing connects by sending (TCP Fast Open), which Landlock does not see. System calls of another machine's
// kind (32 bit) are denied whole.
func callFilter(machine string, spec boundary.Spec) ([]unix.SockFilter, error) {
	arch, ok := arches[machine]
	if !ok {
		return nil, fmt.Errorf("cannot restrict the agent: nothing is known of system calls on %s", machine)
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: unknown},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: unknown},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_PRLIMIT64, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offArgs, Size: 4}, // whose limits; 0: its own
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: denied},
		bpf.RetConstant{Val: allowed},
	}
	if spec.Network != boundary.NetOpen {
		program = append(program, socketFilter(spec.Network == boundary.NetPorts || spec.By == boundary.Bwrap)...) // which has a loopback of its own
	}
	raw, err := bpf.Assemble(append(program, bpf.RetConstant{Val: allowed}))
	if err != nil {
		return nil, fmt.Errorf("cannot restrict the agent: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return filter, nil
}

// socketFilter judges what makes sockets, and what connects by sending; the number of the call is loaded.
func socketFilter(ports bool) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IO_URING_SETUP, SkipTrue: 1},
		bpf.RetConstant{Val: unknown},
	}
	for call, flags := range map[uint32]uint32{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 4},
			bpf.LoadAbsolute{Off: offArgs + 8*flags, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.MSG_FASTOPEN, SkipTrue: 1},
			bpf.RetConstant{Val: denied},
			bpf.RetConstant{Val: allowed})
	}
	program = append(program,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SOCKET, SkipTrue: 1},
		bpf.RetConstant{Val: allowed},
		bpf.LoadAbsolute{Off: offArgs, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 1},
		bpf.RetConstant{Val: allowed},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
		bpf.RetConstant{Val: allowed})
	if ports {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1},
			bpf.RetConstant{Val: denied},
			bpf.LoadAbsolute{Off: offArgs + 8, Size: 4}, // the type, with flags above it
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf},
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: unix.SOCK_DGRAM, SkipTrue: 5},
			bpf.LoadAbsolute{Off: offArgs + 16, Size: 4}, // the protocol
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 1},
			bpf.RetConstant{Val: allowed})
	}
	return append(program, bpf.RetConstant{Val: denied})
}
