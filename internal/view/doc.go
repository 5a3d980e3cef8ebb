// Package view turns what was seen, found and planned, and what is written down, into what
// is shown: values of fleet go in, values of api come out. It is pure: when is now is an
// argument. Package control says who may ask for what, and server carries it.
package view
