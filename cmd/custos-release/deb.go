package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// xz compresses as small as xz-utils can: dpkg reads what liblzma reads. One thread only:
// with several, what comes out depends on the machine. The filter for machine code of arm64
// is too new for the liblzma of older systems.
func xz(arch string) []string {
	argv := []string{"xz", "--format=xz", "--threads=1"}
	if arch == "amd64" {
		argv = append(argv, "--x86")
	}
	return append(argv, "--lzma2=preset=9e,dict=64MiB", "--stdout")
}

// member is a part of a .deb, which is an archive of ar(5): its header of 60 bytes, and its text.
type member struct {
	header string
	text   []byte
}

const (
	arMagic      = "!<arch>\n"
	arHeader     = 60
	arSize       = 48 // where the header tells the size, in ten decimal digits
	arName       = 16
	dataUnpacked = "data.tar"
)

// shrink compresses the files of a .deb that nfpm left as they are: the xz it has of its own
// makes a third more of them.
func shrink(ctx context.Context, path, arch string) error {
	deb, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	members, err := membersOf(string(deb))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	var out bytes.Buffer
	out.WriteString(arMagic)
	for _, m := range members {
		if strings.TrimRight(m.header[:arName], " /") == dataUnpacked {
			if m, err = m.compressed(ctx, xz(arch)); err != nil {
				return fmt.Errorf("cannot compress %s: %w", path, err)
			}
		}
		m.write(&out)
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func (m member) write(out *bytes.Buffer) {
	out.WriteString(m.header)
	out.Write(m.text)
	if len(m.text)%2 == 1 {
		out.WriteByte('\n')
	}
}

func membersOf(ar string) ([]member, error) {
	rest, is := strings.CutPrefix(ar, arMagic)
	if !is {
		return nil, fmt.Errorf("it is no archive of ar")
	}
	var found []member
	for len(rest) > 0 {
		if len(rest) < arHeader {
			return nil, fmt.Errorf("it ends within a header")
		}
		size, err := strconv.Atoi(strings.TrimSpace(rest[arSize : arSize+10]))
		if err != nil || size < 0 || size > len(rest)-arHeader {
			return nil, fmt.Errorf("a part of it is not whole")
		}
		found = append(found, member{rest[:arHeader], []byte(rest[arHeader : arHeader+size])})
		rest = rest[min(arHeader+size+size%2, len(rest)):]
	}
	return found, nil
}

func (m member) compressed(ctx context.Context, argv []string) (member, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(m.text)
	text, err := cmd.Output()
	if err != nil {
		return member{}, fmt.Errorf("%s (Debian's xz-utils): %w", strings.Join(argv, " "), err)
	}
	header := fmt.Sprintf("%-*s%s%-10d%s", arName, dataUnpacked+".xz", m.header[arName:arSize], len(text), m.header[arSize+10:])
	return member{header, text}, nil
}
