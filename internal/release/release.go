// Package release says what a release of Custos consists of, and whether files that
// call themselves one are: how its packages are called, their sums, the signature of
// those, and the three programs in an archive. Values and readers in, values and
// errors out: it opens no file and asks no server.
//
// A release of version 0.1.0 is these files in one folder:
//
//	custos_0.1.0_linux_amd64.tar.gz   an archive with the three programs and their pages; more for other machines,
//	                                  where Custos is a client only without custos-shim
//	custos_0.1.0_amd64.deb, …         the same for package managers
//	SHA256SUMS                        the SHA-256 of each of them, as sha256sum writes and checks it
//	SHA256SUMS.minisig                the signature of SHA256SUMS, as minisign writes and checks it
//
// Only SHA256SUMS is signed. The trusted comment of its signature is "custos VERSION",
// so that sums of one version are never taken for those of another.
package release

import (
	"fmt"
	"regexp"
	"strings"
)

// The names of the files that go with the packages.
const (
	SumsName      = "SHA256SUMS"
	SignatureName = SumsName + ".minisig"
)

// Programs are the executables of Custos: all of one release, in one folder.
func Programs() []string { return []string{"custos", "custos-hook", "custos-shim"} }

// Archive is a .tar.gz of a release. OS and Arch are Go's words for them.
type Archive struct {
	Version, OS, Arch string
}

// Name is the archive's file name, without a folder.
func (a Archive) Name() string { return a.Folder() + ".tar.gz" }

// Folder is the one folder in the archive.
func (a Archive) Folder() string { return fmt.Sprintf("custos_%s_%s_%s", a.Version, a.OS, a.Arch) }

var archiveName = regexp.MustCompile(`^custos_([0-9A-Za-z.+~-]+)_([a-z0-9]+)_([a-z0-9]+)\.tar\.gz$`)

// ParseName reads the name of an archive, without its folder.
func ParseName(name string) (Archive, error) {
	m := archiveName.FindStringSubmatch(name)
	if m == nil {
		return Archive{}, fmt.Errorf("cannot take %q for a release: it is not called custos_VERSION_OS_ARCH.tar.gz", name)
	}
	if err := CheckVersion(m[1]); err != nil {
		return Archive{}, err
	}
	return Archive{Version: m[1], OS: m[2], Arch: m[3]}, nil
}

// semantic is https://semver.org, version 2.0.0.
var semantic = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// CheckVersion refuses what is no semantic version, without a v in front.
func CheckVersion(version string) error {
	if len(version) > 64 || !semantic.MatchString(version) {
		return fmt.Errorf("cannot take %q for a version: want MAJOR.MINOR.PATCH, as 0.1.0 or 0.2.0-rc.1", version)
	}
	return nil
}

// OfTag is the version that a tag names: v0.1.0 is 0.1.0.
func OfTag(tag string) (string, error) {
	version := strings.TrimPrefix(tag, "v")
	return version, CheckVersion(version)
}
