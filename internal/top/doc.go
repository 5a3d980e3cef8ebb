// Package top is the live terminal screen of Custos. It asks through package api and
// shows what one answer holds. The Model is a value: Update takes a message and returns
// the next Model and what is to be asked, View is made of the Model alone. All asking is
// done by commands, each with a deadline, so that no key waits for an answer; no order
// is given before the person has confirmed it, and what became of each is told.
package top
