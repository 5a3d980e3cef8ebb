// Package engineproxy stands in front of a container engine's socket and lets through
// only what Custos asks of an engine. Who may open that socket is as good as root on the
// machine; who may open the proxy's can look at containers, restart those that were
// named, and, where that was allowed, remove images that nothing names and old build cache.
//
// A request comes in, is read by one table (asks), and a new one is made of what was
// understood: nothing of the first is copied but values that the table knows. Answers
// are read whole, at most 16 MiB, and made anew of the fields that the table names: what
// containers have in their environment, command lines and labels stays with the engine,
// but for the two labels that say to which project of compose one belongs.
package engineproxy
