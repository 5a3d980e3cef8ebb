// Package mcp is what agents may say to Custos and ask of it, as a server of the Model
// Context Protocol over standard input and output (custos mcp). It knows nothing but the
// published face (package api): who asks is found as for any other client, so that an
// agent may do here what it may do by the commands, and no more.
//
// Each tool costs every agent that is offered it a piece of its context, so there are few,
// and what they say is short.
package mcp
