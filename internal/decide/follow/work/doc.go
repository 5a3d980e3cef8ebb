// Package work says what becomes of work in a pass: what nobody will go on with is given
// back, what was left behind is written down, and what waits for other work is told when
// it waits no more.
package work
