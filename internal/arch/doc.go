// Package arch holds the atlas: which package of Custos may import which, and
// which packages are pure. It has no code, only the test that keeps it true.
package arch
