package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Sums are the SHA-256 of files, by their names without folder.
type Sums map[string][sha256.Size]byte

// ErrDiffers is that a file is not the one that was released.
var ErrDiffers = errors.New("it is not the file that was released")

// ParseSums reads a SHA256SUMS: lines of 64 hexadecimal digits, two spaces (or a space
// and a star), and a name. A name with a folder, a name twice, and anything else is refused.
func ParseSums(text []byte) (Sums, error) {
	s := Sums{}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		name, sum, err := parseSum(line)
		if _, twice := s[name]; err == nil && twice {
			err = fmt.Errorf("%q stands there twice", name)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s:%d: %w", SumsName, i+1, err)
		}
		s[name] = sum
	}
	return s, nil
}

func parseSum(line string) (name string, sum [sha256.Size]byte, err error) {
	const digits = 2 * sha256.Size
	if len(line) < digits+3 || line[digits] != ' ' || line[digits+1] != ' ' && line[digits+1] != '*' {
		return "", sum, errors.New("want a SHA-256, two spaces and a name")
	}
	name = line[digits+2:]
	if strings.ContainsAny(name, "/\\\x00\r") || name == "." || name == ".." {
		return "", sum, fmt.Errorf("%q is not the name of a file beside it", name)
	}
	raw, err := hex.DecodeString(line[:digits])
	copy(sum[:], raw)
	return name, sum, err
}

// Text is the sums as ParseSums and sha256sum read them, by name.
func (s Sums) Text() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%x  %s\n", s[name], name)
	}
	return b.Bytes()
}

// Check reads a file to its end and compares it with the sum under its name; the error
// is ErrDiffers where another file stands there. Use what was read only after it.
func (s Sums) Check(name string, r io.Reader) error {
	want, there := s[name]
	if !there {
		return fmt.Errorf("cannot verify %s: %s does not name it", name, SumsName)
	}
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return fmt.Errorf("cannot verify %s: %w", name, err)
	}
	if got := h.Sum(nil); !bytes.Equal(got, want[:]) {
		return fmt.Errorf("cannot verify %s: its SHA-256 is %x, and %s says %x: %w", name, got, SumsName, want, ErrDiffers)
	}
	return nil
}
