package main

import (
	"github.com/spf13/cobra"
)

func newConversationBackupCommand(a *app) *cobra.Command {
	cmd := newSnapshotCommand(a)
	cmd.Use, cmd.Short = "backup OUT", "Copy the whole file, before a change"
	cmd.Long = `Backup is memctl snapshot: it writes a consistent copy of the file, with all conversations, to OUT, which must not exist. Contents of more
than 16 MB lie in the folder <file>.files and are not in the copy.`
	cmd.Example = `  memctl conversation backup before.db`
	return cmd
}
