// Package agent knows the kinds of agent CLI, as data, and turns what can be seen
// of one of them into one state. It is pure: process tables, titles, screens and
// registry files go in as values; what runs, what it is doing, and why that is
// believed come out.
//
// Everything here treats what a program wrote as adversarial. Text may raise a
// question; it never justifies an action. docs/states.md has the whole table.
package agent
