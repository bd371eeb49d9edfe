printf "\033[32mok\033[0m   main_test\n\033[31mFAIL\033[0m other_test\n"
