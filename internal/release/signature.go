package release

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"aead.dev/minisign"
)

// ErrUnsigned is that a signature is not by the key, or not of these sums.
var ErrUnsigned = errors.New("the signature is not by this key, or not of these sums")

// commentPrefix stands before the version in the trusted comment.
const commentPrefix = "custos "

// Comment is the trusted comment of the signature of a version's sums.
func Comment(version string) string { return commentPrefix + version }

// Key is a public key of minisign.
type Key struct{ public minisign.PublicKey }

// ParseKey reads a public key as minisign writes it: the line of base64, with or without
// the line of comment before it.
func ParseKey(text []byte) (Key, error) {
	var k Key
	if err := k.public.UnmarshalText(bytes.TrimSpace(text)); err != nil {
		return Key{}, fmt.Errorf("cannot read the public key: want what minisign -G writes to a .pub file: %w", err)
	}
	return k, nil
}

// String names the key as minisign does: its number in hexadecimal digits.
func (k Key) String() string { return fmt.Sprintf("%016X", k.public.ID()) }

// Signed is what a key vouches for.
type Signed struct {
	Version string
	Sums    Sums
}

// Verify reads the sums that this key has signed. The error is ErrUnsigned where it has
// signed others, or nothing.
func (k Key) Verify(sums, signature []byte) (Signed, error) {
	var s minisign.Signature
	if err := s.UnmarshalText(signature); err != nil {
		return Signed{}, fmt.Errorf("cannot read %s: %w", SignatureName, err)
	}
	if s.KeyID != k.public.ID() {
		return Signed{}, fmt.Errorf("cannot verify %s: it is signed by key %016X, and the key here is %s: %w", SumsName, s.KeyID, k, ErrUnsigned)
	}
	if !minisign.Verify(k.public, sums, signature) {
		return Signed{}, fmt.Errorf("cannot verify %s: %w", SumsName, ErrUnsigned)
	}
	version, ours := strings.CutPrefix(s.TrustedComment, commentPrefix)
	if err := CheckVersion(version); !ours || err != nil {
		return Signed{}, fmt.Errorf("cannot verify %s: what is signed is %q, no release of Custos: %w", SumsName, s.TrustedComment, ErrUnsigned)
	}
	all, err := ParseSums(sums)
	return Signed{Version: version, Sums: all}, err
}

// Check reads an archive to its end, and returns what it is when it belongs to what was signed.
func (s Signed) Check(name string, r io.Reader) (Archive, error) {
	a, err := ParseName(name)
	if err != nil {
		return Archive{}, err
	}
	if a.Version != s.Version {
		return Archive{}, fmt.Errorf("cannot verify %s: version %s was signed: %w", name, s.Version, ErrDiffers)
	}
	return a, s.Sums.Check(name, r)
}
