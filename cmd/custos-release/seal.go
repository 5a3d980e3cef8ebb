package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"custos/internal/release"
)

// signer signs the sums of a version; nil signs nothing.
type signer func(sums []byte) []byte

// signer reads the key. Neither it nor its password is ever an argument.
func (o options) signer() (signer, error) {
	if o.key == "" {
		return nil, nil
	}
	var password []byte
	if o.password != "" {
		var err error
		if password, err = os.ReadFile(o.password); err != nil {
			return nil, usage(fmt.Sprintf("cannot read the password of the key: %v", err))
		}
	}
	key, err := readKey(o.key, strings.TrimRight(string(password), "\r\n"))
	if err != nil {
		return nil, usage(fmt.Sprintf("cannot read the key %s: %v", o.key, err))
	}
	return func(sums []byte) []byte {
		return minisign.SignWithComments(key, sums, release.Comment(o.version), "Custos "+o.version)
	}, nil
}

func readKey(path, password string) (key minisign.PrivateKey, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return key, err
	}
	if minisign.IsEncrypted(text) {
		return minisign.DecryptKey(password, text)
	}
	return key, key.UnmarshalText(text)
}

// seal writes the sums of the files and, with a signer, their signature, and returns all paths.
func (o options) seal(made []string, sign signer) ([]string, error) {
	sums := release.Sums{}
	for _, path := range made {
		sum, err := sumOf(path)
		if err != nil {
			return nil, err
		}
		sums[filepath.Base(path)] = sum
	}
	all, signature := filepath.Join(o.out, release.SumsName), filepath.Join(o.out, release.SignatureName)
	if err := os.Remove(signature); err != nil && !os.IsNotExist(err) {
		return nil, err // it is of other sums
	}
	if err := os.WriteFile(all, sums.Text(), 0o644); err != nil {
		return nil, err
	}
	if sign == nil {
		return append(made, all), nil
	}
	return append(made, all, signature), os.WriteFile(signature, sign(sums.Text()), 0o644)
}

func sumOf(path string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	copy(sum[:], h.Sum(nil))
	return sum, err
}

// verify holds every file that the SHA256SUMS of a folder names against it, and that
// against a key.
func verify(args []string, out io.Writer) error {
	var file string
	f := newFlags("verify")
	f.StringVar(&file, "key", "", "file with minisign's public key")
	if err := parse(f, args, 1); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return usage(fmt.Sprintf("cannot verify: --key: %v", err))
	}
	key, err := release.ParseKey(text)
	if err != nil {
		return usage(err.Error())
	}
	signed, err := verifyFolder(key, f.Arg(0))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Custos %s, %d files, signed by %s\n", signed.Version, len(signed.Sums), key)
	return err
}

func verifyFolder(key release.Key, dir string) (release.Signed, error) {
	sums, err := os.ReadFile(filepath.Join(dir, release.SumsName))
	if err != nil {
		return release.Signed{}, fmt.Errorf("cannot verify: %w", err)
	}
	signature, err := os.ReadFile(filepath.Join(dir, release.SignatureName))
	if err != nil {
		return release.Signed{}, fmt.Errorf("cannot verify: %w", err)
	}
	signed, err := key.Verify(sums, signature)
	if err != nil {
		return signed, err
	}
	for name := range signed.Sums {
		err = errors.Join(err, checkFile(signed.Sums, dir, name))
	}
	return signed, err
}

func checkFile(sums release.Sums, dir, name string) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return fmt.Errorf("cannot verify %s: %w", name, err)
	}
	defer f.Close()
	return sums.Check(name, f)
}
