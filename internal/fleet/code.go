package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// CodeFile is one file of a folder of formulas and plugins, as it would be run.
type CodeFile struct {
	Path   string `json:"path"`           // below the folder
	Exec   bool   `json:"exec,omitempty"` // may be executed
	Digest string `json:"digest"`         // SHA-256 of its bytes, in hex
}

// Pins are the files of one folder that a person said may be run, as they were in
// one commit.
type Pins struct {
	Dir    string     `json:"dir"`
	Commit string     `json:"commit"`
	Files  []CodeFile `json:"files"`
	By     string     `json:"by"`
	At     Instant    `json:"at"`
}

// CodeFacts is a folder of formulas and plugins that is kept in a repository, where
// agents may write: what its primary branch has, and what of that may be run.
type CodeFacts struct {
	Dir     string       `json:"dir"`
	Project string       `json:"project,omitempty"` // as [formulas] projects names it
	Commit  string       `json:"commit,omitempty"`  // that the files were read from
	Digest  string       `json:"digest,omitempty"`  // of all of them: what a person approves of
	Trusted int          `json:"trusted"`           // files that are as a person approved of them
	Changes Leaf[string] `json:"changes"`           // comma between them; "" when all of it is trusted: "+ path", "~ path", "- path": what nobody approved of
	Loose   string       `json:"loose,omitempty"`   // what lies in the folder otherwise than in that commit: never run
	Diff    string       `json:"diff,omitempty"`    // of the changes, cut
}

// CodeDigest is of a list of files, in their order.
func CodeDigest(files []CodeFile) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%q %t %s\n", f.Path, f.Exec, f.Digest)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
