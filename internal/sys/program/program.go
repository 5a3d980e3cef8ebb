// Package program runs programs that a person named in custos.toml: to hand them
// something, or to ask them for a secret. No shell reads their arguments.
package program

import (
	"fmt"
	"os"
)

// Call is one run of a program.
type Call struct {
	Argv  []string
	Env   []string // all that it learns of our environment, as Environ makes it
	Dir   string   // where it runs; "" is the root
	Stdin []byte
	Max   int              // bytes of its output; more is an error
	End   func(leader int) // ends the program, which leads a session then, and all that it started; nil: its process group is killed
	Heard int              // bytes of what it writes to standard error that are kept for a Complaint; 0: it is not read, for it may name a secret
}

// Complaint is the error of a program that failed, and said why.
type Complaint struct {
	Err  error
	Says string
}

func (c *Complaint) Error() string { return c.Err.Error() }
func (c *Complaint) Unwrap() error { return c.Err }

// TooMuch says that a program printed more than so many bytes.
type TooMuch int

func (m TooMuch) Error() string { return fmt.Sprintf("it printed more than %d bytes", int(m)) }

// Environ is the environment of such a program: the usual few variables, and those
// that are named.
func Environ(getenv func(string) string, names ...string) []string {
	if getenv == nil {
		getenv = os.Getenv
	}
	env := []string{}
	for _, key := range append([]string{"PATH", "HOME", "LANG"}, names...) {
		if v := getenv(key); v != "" {
			env = append(env, key+"="+v)
		}
	}
	return env
}
