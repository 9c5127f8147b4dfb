"""Tables, plots and files of an evaluation's results, made from its episode records."""
